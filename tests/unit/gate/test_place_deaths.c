/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gates while the tracer, its helper or the process is killed, or the process executes a program.
 */
#if defined(__x86_64__)

#include "tests/unit/gate/gate_child.h"

#define KILLS     60
#define EXECS     15
#define THREADS   4
#define KILL_US   30000
#define SETTLE_US 500
#define SETTLES   20000

/* Deaths of the tracer. */

/* The helper of a dead tracer becomes our child (PR_SET_CHILD_SUBREAPER). */
static void await_helper(pid_t pid)
{
	pid_t children[CHILDREN_MAX];
	int settles = 0;

	while (list_children(getpid(), children) > 1) {
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nap_us(SETTLE_US);
		assert_true(settles++ < SETTLES);
	}
}

static _Noreturn void place_and_remove_forever(pid_t pid, const struct gate_fixture *fixture)
{
	struct gate_stop stop;
	bool left;

	for (;;)
		if (place(pid, fixture, &stop) || take_away(pid, fixture, &left, &stop) || left)
			_exit(1);
}

/* After the death, all gates are in place or none. */
static bool kill_tracer(pid_t pid, const struct gate_fixture *fixture, long after_us)
{
	struct gate_stop stop;
	pid_t tracer = fork();
	int status;
	bool mapped, left;

	if (!tracer)
		place_and_remove_forever(pid, fixture);
	nap_us(after_us);
	kill(tracer, SIGKILL);
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_true(WIFSIGNALED(status));
	await_helper(pid);
	await_calls();
	mapped = is_mapped(pid, fixture->image.address, CODE_SIZE + DATA_SIZE);
	for (size_t i = 0; i < FUNCTIONS; i++)
		assert_int_equal(has_bytes(pid, fixture->patches[i].address,
					   fixture->patches[i].jump, fixture->patches[i].jump_size),
				 mapped);
	assert_int_equal(take_away(pid, fixture, &left, &stop), 0);
	assert_false(left);
	expect_nothing(pid, fixture);
	return mapped;
}

static void test_killed_tracer(void **state)
{
	pid_t pid = start_calling(THREADS);
	size_t files = count_files(pid), placed = 0, rounds = rounds_of(KILLS);
	static struct gate_fixture fixture;

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prepare(&fixture, area_for(pid));
	for (size_t i = 0; i < rounds; i++)
		placed += kill_tracer(pid, &fixture, rand() % KILL_US);
	assert_int_equal(count_files(pid), files);
	end(pid);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	print_message("%zu tracers killed, %zu left gates\n", rounds, placed);
}

static _Noreturn void kill_helper_of(pid_t tracer)
{
	for (;;) {
		pid_t children[CHILDREN_MAX];
		size_t count = list_children(tracer, children);

		nap_us(5000);
		while (count--) {
			struct proc_info info = {0};

			if (!proc_info_read(children[count], &info) &&
			    !strcmp(info.comm, "mtrace-gate")) {
				kill(children[count], SIGKILL);
				_exit(0);
			}
			proc_info_free(&info);
		}
	}
}

/* The helper tries again and again, because a thread is inside. */
static void test_killed_helper(void **state)
{
	static struct gate_fixture fixture;
	struct gate_stop stop;
	pid_t pid = start_in_handler(), tracer = getpid(), killer;

	(void)state;
	prepare(&fixture, area_for(pid));
	killer = fork();
	if (!killer)
		kill_helper_of(tracer);
	assert_int_equal(place(pid, &fixture, &stop), -EIO);
	waitpid(killer, NULL, 0);
	expect_nothing(pid, &fixture);
	board->go = true;
	await_calls();
	end(pid);
}

/* Exits and execs. */

static void exec_when_told(void)
{
	while (!board->go)
		board->counts[0] += results_are_right(1);
	execl("/bin/sleep", "sleep", "1000", (char *)NULL);
}

static void await_exec(pid_t pid)
{
	struct proc_info info = {0};
	bool done = false;

	while (!done) {
		assert_int_equal(proc_info_read(pid, &info), 0);
		done = !strcmp(info.comm, "sleep");
		proc_info_free(&info);
	}
}

static void test_exec_removes_gates(void **state)
{
	static struct gate_fixture fixture;
	struct gate_stop stop;
	bool left = true;
	pid_t pid;

	(void)state;
	fresh_board();
	board->threads = 1;
	pid = child_start(exec_when_told);
	await_calls();
	prepare(&fixture, area_for(pid));
	assert_int_equal(place(pid, &fixture, &stop), 0);
	board->go = true;
	await_exec(pid);
	assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
	assert_false(left);
	end(pid);
}

/* It execs at any moment. */
static void test_exec_meanwhile(void **state)
{
	static struct gate_fixture fixture;

	(void)state;
	for (int i = 0; i < EXECS; i++) {
		struct gate_board *shared;
		struct gate_stop stop;
		pid_t pid, waker;
		bool left;

		fresh_board();
		board->threads = 1;
		shared = board;
		pid = child_start(exec_when_told);
		await_calls();
		prepare(&fixture, area_for(pid));
		waker = fork();
		if (!waker) {
			nap_us(i * 400);
			shared->go = true;
			_exit(0);
		}
		for (int k = 0; k < 3; k++) {
			gate_place(pid, &fixture.image, fixture.patches, FUNCTIONS, &stop, NULL);
			gate_remove(pid, &fixture.image, &left, &stop, NULL);
		}
		waitpid(waker, NULL, 0);
		await_exec(pid);
		assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
		end(pid);
	}
}

static void test_exited_process(void **state)
{
	static struct gate_fixture fixture;
	struct gate_stop stop;
	siginfo_t info;
	pid_t pid = start_calling(THREADS);
	bool left = true;

	(void)state;
	prepare(&fixture, area_for(pid));
	assert_int_equal(place(pid, &fixture, &stop), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
	assert_false(left);
	assert_int_equal(place(pid, &fixture, &stop), -ESRCH);
	end(pid);
	assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
	assert_int_equal(place(pid, &fixture, &stop), -ESRCH);
}

/* It is killed at any moment. */
static void test_killed_process(void **state)
{
	static struct gate_fixture fixture;

	(void)state;
	for (int i = 0; i < EXECS; i++) {
		pid_t pid = start_calling(THREADS), killer;
		struct gate_stop stop;
		bool left;
		int code = 0;

		prepare(&fixture, area_for(pid));
		killer = fork();
		if (!killer) {
			nap_us(1000 + i * 500);
			kill(pid, SIGKILL);
			_exit(0);
		}
		while (!code) {
			code = gate_place(pid, &fixture.image, fixture.patches, FUNCTIONS, &stop,
					  NULL);
			assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
		}
		waitpid(killer, NULL, 0);
		end(pid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_killed_tracer),  TEST(test_killed_helper),  TEST(test_exec_removes_gates),
		TEST(test_exec_meanwhile), TEST(test_exited_process), TEST(test_killed_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
