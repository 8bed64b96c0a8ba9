/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long programs wait for a tracer that answers late or never, and for a guard that does not
 * answer.
 *
 * A test that hangs must not block the machine: SIGALRM kills it, and the guard exits with it.
 * Children wait in their exec; the test itself does not exec.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/exec/guard.h"
#include "os/process/proc.h"

#define MS          1000000ULL
#define PATIENCE_NS (2000 * MS)
#define LIMIT_NS    (4000 * MS)
#define TURN_NS     (500 * MS) /* of a busy tracer: far less than its patience */
#define TIMEOUT_MS  60000
#define TIMEOUT     60 /* seconds */
#define RUNS        8

/* Shared with the guard: the children that should wait once, and the one for which the guard loops
 * until it is killed. */
struct board {
	_Atomic int waits[RUNS];
	_Atomic int hangs;
};

static bool is_on_board(void *ctx, int kept, pid_t pid, int file)
{
	struct board *board = ctx;

	(void)kept, (void)file;
	while (board->hangs == pid)
		;
	for (size_t i = 0; i < RUNS; i++) {
		int expected = (int)pid;

		if (__atomic_compare_exchange_n(&board->waits[i], &expected, 0, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return true;
	}
	return false;
}

struct world {
	struct board *board;
	struct exec_guard guard;
};

static int setup(void **state)
{
	static struct world world;
	struct exec_guard_config config = {
		.wanted = is_on_board, .patience_ns = PATIENCE_NS, .limit_ns = LIMIT_NS};
	struct error err = {0};
	int code;

	alarm(TIMEOUT);
	world.board = mmap(NULL, sizeof(*world.board), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(world.board != MAP_FAILED);
	config.ctx = world.board;
	code = exec_guard_start(&world.guard, &config, &err);
	assert_true(!code || code == -EPERM);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	exec_guard_stop(&world->guard);
	munmap(world->board, sizeof(*world->board));
	alarm(0);
	return 0;
}

/* A child that executes a program. */
static pid_t run_child(_Atomic int *ret_pid)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		*ret_pid = getpid();
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	return pid;
}

/* A child that waits in its exec, and the tracer's notification of it. */
static pid_t run(struct world *world, size_t i, struct held_exec *ret_held)
{
	struct pollfd readable = {.fd = world->guard.socket, .events = POLLIN};
	pid_t pid = run_child(&world->board->waits[i]);

	assert_int_equal(poll(&readable, 1, TIMEOUT_MS), 1);
	assert_int_equal(exec_guard_take(&world->guard, ret_held), 1);
	assert_int_equal(ret_held->pid, pid);
	return pid;
}

static bool waits(const struct world *world, const struct held_exec *held)
{
	return exec_guard_let_go_ns(&world->guard, held) == UINT64_MAX;
}

static void ends_well(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void pass_ns(uint64_t ns)
{
	const struct timespec pause = {.tv_sec = (time_t)(ns / (1000 * MS)),
				       .tv_nsec = (long)(ns % (1000 * MS))};

	nanosleep(&pause, NULL);
}

/* While the tracer answers other requests, a program waits up to the limit. Others continue to
 * wait. */
static void test_busy_tracer(void **state)
{
	struct world *world = *state;
	struct held_exec first, other;
	pid_t pid, others[RUNS];
	size_t i = 0;

	if (!world->guard.pid)
		skip();
	pid = run(world, i++, &first);
	for (; i < RUNS - 1; i++) {
		others[i] = run(world, i, &other);
		pass_ns(TURN_NS);
		assert_true(waits(world, &first));
		assert_true(waits(world, &other));
		exec_guard_allow(&world->guard, &other);
		ends_well(others[i]);
	}
	assert_true(clock_now_ns() - first.asked_ns > PATIENCE_NS);
	others[i] = run(world, i, &other);
	ends_well(pid);
	assert_true(exec_guard_let_go_ns(&world->guard, &first) >= first.asked_ns + LIMIT_NS);
	assert_true(waits(world, &other));
	exec_guard_allow(&world->guard, &first);
	exec_guard_allow(&world->guard, &other);
	ends_well(others[i]);
}

/* When the patience with the first program is over, all continue. From then on no program waits
 * until the tracer answers. */
static void test_silent_tracer(void **state)
{
	struct world *world = *state;
	struct held_exec first, second, later;
	pid_t pids[2];

	if (!world->guard.pid)
		skip();
	pids[0] = run(world, 0, &first);
	pass_ns(PATIENCE_NS / 4);
	pids[1] = run(world, 1, &second);
	ends_well(pids[0]);
	ends_well(pids[1]);
	assert_true(exec_guard_let_go_ns(&world->guard, &first) >= first.asked_ns + PATIENCE_NS);
	assert_true(exec_guard_let_go_ns(&world->guard, &first) ==
		    exec_guard_let_go_ns(&world->guard, &second));
	ends_well(run_child(&world->board->waits[2]));
	assert_int_equal(exec_guard_take(&world->guard, &later), 0);
	exec_guard_allow(&world->guard, &first);
	exec_guard_allow(&world->guard, &second);
	pass_ns(TURN_NS);
	pids[0] = run(world, 3, &later);
	assert_true(waits(world, &later));
	exec_guard_allow(&world->guard, &later);
	ends_well(pids[0]);
}

/* Returns when the guard was stopped, or killed. */
static void await_guard_stopped(const struct world *world)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)world->guard.pid, &info, WSTOPPED | WEXITED | WNOWAIT),
			 0);
}

/* The guard exits once its pending reports are read. */
static void assert_guard_exits(const struct world *world)
{
	struct pollfd readable = {.fd = world->guard.socket, .events = POLLIN};
	struct held_exec held;

	assert_int_equal(poll(&readable, 1, TIMEOUT_MS), 1);
	assert_true(exec_guard_take(&world->guard, &held) < 0);
}

/* One program waits that the guard has handled, and another whose event it has not read. */
static void all_execs_continue(struct world *world, void (*stop)(const struct world *))
{
	struct held_exec held;
	pid_t known, unknown;

	known = run(world, 0, &held);
	stop(world);
	await_guard_stopped(world);
	unknown = run_child(&world->board->waits[1]);
	ends_well(known);
	ends_well(unknown);
	assert_true(exec_guard_let_go_ns(&world->guard, &held) >= held.asked_ns);
	assert_false(waits(world, &held));
	exec_guard_allow(&world->guard, &held);
	assert_guard_exits(world);
}

static void stop_guard(const struct world *world)
{
	kill(world->guard.pid, SIGSTOP);
}

static void test_stopped_guard_lets_all_execs_continue(void **state)
{
	struct world *world = *state;

	if (!world->guard.pid)
		skip();
	all_execs_continue(world, stop_guard);
}

/* Stops the guard like a debugger. */
static void interrupt_guard(const struct world *world)
{
	assert_int_equal(ptrace(PTRACE_SEIZE, world->guard.pid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, world->guard.pid, NULL, NULL), 0);
}

static void test_debugged_guard_lets_all_execs_continue(void **state)
{
	struct world *world = *state;

	if (!world->guard.pid)
		skip();
	all_execs_continue(world, interrupt_guard);
}

static void test_guard_in_endless_loop_lets_all_execs_continue(void **state)
{
	struct world *world = *state;
	struct held_exec held;
	pid_t known, looping;

	if (!world->guard.pid)
		skip();
	known = run(world, 0, &held);
	looping = run_child(&world->board->hangs);
	ends_well(known);
	ends_well(looping);
	assert_false(waits(world, &held));
	exec_guard_allow(&world->guard, &held);
	assert_guard_exits(world);
}

/* Reports can still be read after the guard has exited without reading the answers. */
static void test_reports_outlive_the_guard(void **state)
{
	struct world *world = *state;
	struct held_exec first, second;
	struct pollfd readable = {.events = POLLIN};
	pid_t pids[2];

	if (!world->guard.pid)
		skip();
	pids[0] = run(world, 0, &first);
	pids[1] = run_child(&world->board->waits[1]);
	readable.fd = world->guard.socket;
	assert_int_equal(poll(&readable, 1, TIMEOUT_MS), 1);
	stop_guard(world);
	await_guard_stopped(world);
	exec_guard_allow(&world->guard, &first);
	ends_well(pids[0]);
	ends_well(pids[1]);
	assert_int_equal(exec_guard_take(&world->guard, &second), 1);
	assert_int_equal(second.pid, pids[1]);
	assert_false(waits(world, &second));
	exec_guard_allow(&world->guard, &second);
	assert_guard_exits(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_busy_tracer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent_tracer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped_guard_lets_all_execs_continue, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_debugged_guard_lets_all_execs_continue, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_guard_in_endless_loop_lets_all_execs_continue,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_reports_outlive_the_guard, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
