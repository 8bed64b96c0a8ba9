/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pausing real children at their exit, and what they and their parents notice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "os/ptrace/exit_watch.h"

#define MARK       0x5ca1ab1e0ddba11ULL
#define THREADS    4
#define TIMEOUT_MS 20000

/* Shared memory of parent and child. */
struct board {
	volatile uint64_t mark;
	volatile int go;
	volatile int threads;
	volatile int signals;
};

struct child {
	pid_t pid;
	struct board *board;
	struct exit_watch *watch;
	int event;
};

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_nsec = ms * 1000000};

	nanosleep(&pause, NULL);
}

static void await(volatile int *word, int value)
{
	while (*word < value)
		pause_ms(1);
}

/* A child that waits for `go`, and then calls `run`. */
static struct child child_start(void (*run)(struct board *))
{
	struct child child = {0};

	child.board = mmap(NULL, sizeof(*child.board), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(child.board != MAP_FAILED);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(child.board);
		_exit(0);
	}
	return child;
}

static int try_watch(struct child *child, enum hold_from from, bool family,
		     struct exit_watch **ret_watch, struct error *err)
{
	struct hold_request options = {
		.pid = child->pid, .from = from, .family = family, .event = child->event};

	return exit_watch_start(ret_watch, &options, err);
}

static void child_watch_from(struct child *child, enum hold_from from, bool family)
{
	struct error err;

	child->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(child->event >= 0);
	assert_int_equal(try_watch(child, from, family, &child->watch, &err), 0);
}

static void child_watch(struct child *child)
{
	child_watch_from(child, HOLD_NOW, false);
}

static bool held_within(const struct child *child, int ms)
{
	struct pollfd held = {.fd = child->event, .events = POLLIN};

	return poll(&held, 1, ms) == 1 && exit_watch_at_end(child->watch);
}

static void child_hold(const struct child *child)
{
	assert_true(held_within(child, TIMEOUT_MS));
	assert_true(exit_watch_at_end(child->watch));
}

/* Releases the child, and returns its wait status. */
static int child_end(struct child *child)
{
	int status;

	exit_watch_close(child->watch);
	close(child->event);
	do /* the thread that traced it may not be gone yet: then we see its last stop first */
		assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	while (WIFSTOPPED(status));
	munmap(child->board, sizeof(*child->board));
	return status;
}

/* The number of threads whose registers contain the mark. */
static int marks_of(const struct child *child)
{
	const struct thread_registers *threads;
	size_t count;
	int marks = 0;

	threads = exit_watch_threads(child->watch, &count);
	for (size_t i = 0; i < count; i++) {
		const uint64_t mark = MARK;

		marks += memmem(threads[i].bytes, threads[i].size, &mark, sizeof(mark)) != NULL;
	}
	return marks;
}

static void run_exit(struct board *board)
{
	await(&board->go, 1);
	_exit(3);
}

static void test_exit_is_held(void **state)
{
	struct child child = child_start(run_exit);
	const struct thread_registers *threads;
	int status;
	size_t count;

	(void)state;
	child_watch(&child);
	assert_false(held_within(&child, 20));
	child.board->go = 1;
	child_hold(&child);
	threads = exit_watch_threads(child.watch, &count);
	assert_int_equal(count, 1);
	assert_int_equal(threads[0].tid, child.pid);
	assert_true(threads[0].stack != 0);
	/* Its memory is still mapped, and it stays paused. */
	assert_int_equal(proc_memory_read(child.pid, threads[0].stack, &status, sizeof(status)),
			 sizeof(status));
	assert_true(tracee_is_stopped(child.pid, child.pid));
	status = child_end(&child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void run_signal(struct board *board)
{
	await(&board->go, 1);
	signal(SIGTERM, SIG_DFL);
	raise(SIGTERM);
}

static void test_death_by_signal_is_held(void **state)
{
	struct child child = child_start(run_signal);
	int status;

	(void)state;
	child_watch(&child);
	child.board->go = 1;
	child_hold(&child);
	status = child_end(&child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void test_sigkill_is_not_held(void **state)
{
	struct child child = child_start(run_exit);
	siginfo_t info;
	int status;

	(void)state;
	child_watch(&child);
	kill(child.pid, SIGKILL);
	while (waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT) ||
	       info.si_code != CLD_KILLED)
		;
	assert_false(exit_watch_at_end(child.watch));
	status = child_end(&child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A process that is already exiting cannot be killed. It waits for us. */
static void test_sigkill_does_not_release_a_held_process(void **state)
{
	struct child child = child_start(run_exit);
	int status;

	(void)state;
	child_watch(&child);
	child.board->go = 1;
	child_hold(&child);
	kill(child.pid, SIGKILL);
	pause_ms(20);
	assert_true(tracee_is_stopped(child.pid, child.pid));
	status = child_end(&child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void *hold_mark(void *argument)
{
	struct board *board = argument;
#if defined(__x86_64__)
	register uint64_t mark __asm__("r12") = MARK;
#else
	volatile uint64_t mark = MARK;
#endif

	/* Count the thread while the mark is in its register. That is certain only within the
	 * assembler code. */
#if defined(__x86_64__)
	__asm__ volatile("lock incl %0\n1: pause; cmpl $2, %1; jne 1b"
			 : "+m"(board->threads)
			 : "m"(board->go), "r"(mark)
			 : "cc", "memory");
#else
	__atomic_add_fetch(&board->threads, 1, __ATOMIC_SEQ_CST);
	await(&board->go, 2 + 0 * (int)mark);
#endif
	return NULL;
}

static void start_threads(struct board *board, pthread_t threads[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, hold_mark, board))
			_exit(9);
	await(&board->threads, THREADS);
}

static void run_exit_with_threads(struct board *board)
{
	pthread_t threads[THREADS];

	start_threads(board, threads);
	await(&board->go, 1);
	_exit(4);
}

static void test_all_threads_are_held(void **state)
{
	struct child child = child_start(run_exit_with_threads);
	size_t count;
	int status;

	(void)state;
	child_watch(&child); /* some threads start before, some after */
	await(&child.board->threads, THREADS);
	child.board->go = 1;
	child_hold(&child);
	(void)exit_watch_threads(child.watch, &count);
	assert_int_equal(count, THREADS + 1);
#if defined(__x86_64__)
	assert_int_equal(marks_of(&child), THREADS);
#endif
	status = child_end(&child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 4);
}

static void run_threads_end_first(struct board *board)
{
	pthread_t threads[THREADS];

	start_threads(board, threads);
	board->go = 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	board->mark = MARK;
	await(&board->go, 3);
}

static void test_exit_of_a_thread_is_not_held(void **state)
{
	struct child child = child_start(run_threads_end_first);

	(void)state;
	child_watch(&child);
	while (child.board->mark != MARK)
		assert_false(held_within(&child, 1));
	child.board->go = 3;
	child_hold(&child);
	assert_int_equal(child_end(&child), 0);
}

static void *outlive_leader(void *argument)
{
	struct board *board = argument;

	await(&board->go, 1);
	syscall(SYS_exit, 0);
	return NULL;
}

static void run_leader_ends_first(struct board *board)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, outlive_leader, board))
		_exit(9);
	board->threads = 1;
	syscall(SYS_exit, 0);
}

static void test_exit_of_the_last_thread_is_held(void **state)
{
	struct child child = child_start(run_leader_ends_first);
	const struct thread_registers *threads;
	size_t count;

	(void)state;
	await(&child.board->threads, 1);
	child_watch(&child);
	assert_false(held_within(&child, 20));
	child.board->go = 1;
	child_hold(&child);
	threads = exit_watch_threads(child.watch, &count);
	assert_int_equal(count, 1);
	assert_int_not_equal(threads[0].tid, child.pid);
	assert_int_equal(child_end(&child), 0);
}

static void *become(void *argument)
{
	char *const argv[] = {"sh", "-c", "exit 5", NULL};

	(void)argument;
	execv("/bin/sh", argv);
	_exit(9);
}

static void run_exec_by_thread(struct board *board)
{
	pthread_t threads[THREADS], other;

	start_threads(board, threads);
	await(&board->go, 1);
	if (pthread_create(&other, NULL, become, NULL))
		_exit(9);
	for (;;)
		pause();
}

static void test_exec_is_not_an_exit(void **state)
{
	struct child child = child_start(run_exec_by_thread);
	size_t count;
	int status;

	(void)state;
	child_watch(&child);
	child.board->go = 1;
	child_hold(&child); /* sh's exit */
	(void)exit_watch_threads(child.watch, &count);
	assert_int_equal(count, 1);
	status = child_end(&child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static void test_exit_before_the_exec_is_not_held(void **state)
{
	struct child child = child_start(run_exit);
	siginfo_t info;
	int status;

	(void)state;
	child_watch_from(&child, HOLD_EXEC, false);
	child.board->go = 1;
	while (waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT) ||
	       info.si_code != CLD_EXITED)
		;
	status = child_end(&child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void test_stop_on_demand(void **state)
{
	struct child child = child_start(run_exit_with_threads);
	struct error err;
	size_t count;

	(void)state;
	child_watch(&child);
	await(&child.board->threads, THREADS);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(exit_watch_stop(child.watch, &err), 0);
		(void)exit_watch_threads(child.watch, &count);
		assert_int_equal(count, THREADS + 1);
#if defined(__x86_64__)
		assert_int_equal(marks_of(&child), THREADS);
#endif
		assert_true(tracee_is_stopped(child.pid, child.pid));
		exit_watch_continue(child.watch);
	}
	assert_false(exit_watch_at_end(child.watch));
	child.board->go = 1;
	child_hold(&child);
	/* Stopping or continuing a paused process has no effect. */
	assert_int_equal(exit_watch_stop(child.watch, &err), 0);
	exit_watch_continue(child.watch);
	assert_true(tracee_is_stopped(child.pid, child.pid));
	assert_int_equal(WEXITSTATUS(child_end(&child)), 4);
}

static struct board *counted;

static void count(int number)
{
	(void)number;
	counted->signals++;
}

static void run_count(struct board *board)
{
	counted = board;
	signal(SIGUSR1, count);
	board->threads = 1;
	await(&board->go, 1);
	_exit(board->signals == 100 ? 0 : 1);
}

static void test_signals_are_delivered(void **state)
{
	struct child child = child_start(run_count);
	struct error err;

	(void)state;
	await(&child.board->threads, 1);
	child_watch(&child);
	for (int i = 0; i < 100; i++) {
		bool stop = i % 10 == 0;

		if (stop)
			assert_int_equal(exit_watch_stop(child.watch, &err), 0);
		kill(child.pid, SIGUSR1);
		if (stop)
			exit_watch_continue(child.watch);
		await(&child.board->signals, i + 1);
	}
	child.board->go = 1;
	child_hold(&child);
	assert_int_equal(child_end(&child), 0);
}

static char state_of(pid_t pid)
{
	struct proc_info info;
	char state = 0;

	if (proc_info_read(pid, &info))
		return 0;
	state = info.state;
	proc_info_free(&info);
	return state;
}

static void await_state(pid_t pid, char state)
{
	while (state_of(pid) != state)
		pause_ms(1);
}

/* A listening thread shows as traced. After its release, it is stopped as before. */
static void test_job_control_is_left_alone(void **state)
{
	struct child child = child_start(run_count);
	struct error err;

	(void)state;
	await(&child.board->threads, 1);
	child_watch(&child);
	kill(child.pid, SIGSTOP);
	await_state(child.pid, 't');
	kill(child.pid, SIGCONT);
	kill(child.pid, SIGUSR1);
	await(&child.board->signals, 1);
	kill(child.pid, SIGSTOP);
	await_state(child.pid, 't');
	pause_ms(20);
	assert_int_equal(exit_watch_stop(child.watch, &err), 0);
	exit_watch_continue(child.watch);
	exit_watch_close(child.watch);
	child.watch = NULL;
	await_state(child.pid, 'T');
	kill(child.pid, SIGCONT);
	child.board->go = 1;
	assert_int_equal(WEXITSTATUS(child_end(&child)), 1);
}

static void test_gone_or_traced_process_is_refused(void **state)
{
	struct child child = child_start(run_exit);
	struct exit_watch *second;
	struct error err;

	(void)state;
	child_watch(&child);
	assert_int_equal(try_watch(&child, HOLD_NOW, false, &second, &err), -EPERM);
	assert_non_null(strstr(err.text, "traces it"));
	child.board->go = 1;
	child_hold(&child);
	(void)child_end(&child);
	assert_int_equal(try_watch(&child, HOLD_NOW, false, &second, &err), -ESRCH);
}

#define FAMILY 20

/* Each child has a child of its own. All exit at about the same time. */
static void run_family(struct board *board)
{
	char *const shell[] = {"sh", "-c", "(exit 7); exit $?", NULL};
	int status, wrong = 0;

	await(&board->go, 1);
	for (int i = 0; i < FAMILY; i++) {
		pid_t pid;

		if (i % 2) {
			wrong += posix_spawn(&pid, "/bin/sh", NULL, NULL, shell, environ) != 0;
			continue;
		}
		pid = fork();
		if (!pid && !fork())
			_exit(9);
		if (!pid)
			_exit(wait(&status) > 0 && WEXITSTATUS(status) == 9 ? 7 : 1);
	}
	while (wait(&status) > 0)
		wrong += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
	_exit(wrong);
}

/* Pauses each process in turn, and returns their number. */
static int hold_family(struct exit_watch **watches, size_t *count)
{
	int held = 0;

	for (size_t i = 0; i < *count; i++) {
		bool at_end = exit_watch_at_end(watches[i]);
		struct exit_watch *child;
		size_t threads;

		while ((child = exit_watch_child(watches[i])))
			watches[(*count)++] = child;
		if (!at_end)
			continue;
		(void)exit_watch_threads(watches[i], &threads);
		assert_int_equal(threads, 1);
		assert_true(
			tracee_is_stopped(exit_watch_pid(watches[i]), exit_watch_pid(watches[i])));
		exit_watch_close(watches[i]);
		watches[i--] = watches[--*count];
		held++;
	}
	return held;
}

static void test_children_are_held_one_by_one(void **state)
{
	struct child child = child_start(run_family);
	struct exit_watch *watches[4 * FAMILY + 1];
	size_t count = 1;
	int held = 0, status;

	(void)state;
	child_watch_from(&child, HOLD_NOW, true);
	watches[0] = child.watch;
	child.board->go = 1;
	while (count) {
		struct pollfd event = {.fd = child.event, .events = POLLIN};
		uint64_t raised;

		assert_int_equal(poll(&event, 1, TIMEOUT_MS), 1);
		assert_int_equal(read(child.event, &raised, sizeof(raised)), sizeof(raised));
		held += hold_family(watches, &count);
	}
	/* Each of them once, including the shells' own children. */
	assert_true(held >= 2 * FAMILY + 1);
	child.watch = NULL;
	status = child_end(&child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void run_orphans(struct board *board)
{
	await(&board->signals, 1);
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			await(&board->go, 1);
			_exit(0);
		}
	kill(getpid(), SIGKILL);
}

/* The launched process is reaped late; its children are paused in the meantime. */
static void test_children_outlive_the_first(void **state)
{
	struct child child = child_start(run_orphans);
	struct exit_watch *watches[8];
	size_t count = 1;
	siginfo_t info;
	int status;

	(void)state;
	child_watch_from(&child, HOLD_NOW, true);
	watches[0] = child.watch;
	child.board->signals = 1;
	while (waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT))
		;
	child.board->go = 1;
	while (!exit_watch_is_over(watches[0]))
		pause_ms(1);
	for (int held = 0; held < 2; pause_ms(1))
		held += hold_family(watches, &count);
	assert_int_equal(count, 1);
	status = child_end(&child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Released at any time, no process hangs, and no status is lost. */
static void test_release_at_any_time(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		struct child child = child_start(run_exit_with_threads);
		struct timespec moment = {.tv_nsec = round * 20000};

		child_watch(&child);
		await(&child.board->threads, THREADS);
		child.board->go = 1;
		nanosleep(&moment, NULL);
		assert_int_equal(WEXITSTATUS(child_end(&child)), 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_is_held),
		cmocka_unit_test(test_death_by_signal_is_held),
		cmocka_unit_test(test_sigkill_is_not_held),
		cmocka_unit_test(test_sigkill_does_not_release_a_held_process),
		cmocka_unit_test(test_all_threads_are_held),
		cmocka_unit_test(test_exit_of_a_thread_is_not_held),
		cmocka_unit_test(test_exit_of_the_last_thread_is_held),
		cmocka_unit_test(test_exec_is_not_an_exit),
		cmocka_unit_test(test_exit_before_the_exec_is_not_held),
		cmocka_unit_test(test_stop_on_demand),
		cmocka_unit_test(test_signals_are_delivered),
		cmocka_unit_test(test_job_control_is_left_alone),
		cmocka_unit_test(test_gone_or_traced_process_is_refused),
		cmocka_unit_test(test_children_are_held_one_by_one),
		cmocka_unit_test(test_children_outlive_the_first),
		cmocka_unit_test(test_release_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
