/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gates in real children, whose threads call the functions all the time and check the results. */
#if defined(__x86_64__)

#include "tests/unit/gate/gate_child.h"

#include <asm/prctl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "tests/unit/sweep.h"

#define ROUNDS    200
#define KILLS     120
#define EXECS     12
#define THREADS   4
#define KILL_US   12000
#define SETTLE_US 500
#define SETTLES   20000

#define CHILDREN_MAX 16

static size_t rounds_of(size_t count)
{
	return count / sweep_step(10);
}

/* Placing and removing. */

struct times {
	uint64_t sum_ns, most_ns;
	uint32_t stops, calls;
};

static void add_time(struct times *times, const struct gate_stop *stop)
{
	times->sum_ns += stop->stopped_ns;
	times->most_ns = stop->stopped_ns > times->most_ns ? stop->stopped_ns : times->most_ns;
	times->stops += stop->tries;
	times->calls++;
}

static void print_times(const char *what, const struct times *times)
{
	print_message("%s: %u times, %u stops, %llu us on average, at most %llu us\n", what,
		      times->calls, times->stops,
		      (unsigned long long)(times->sum_ns / times->calls / 1000),
		      (unsigned long long)(times->most_ns / 1000));
}

static void expect_calls_counted(pid_t pid, const struct gate_fixture *fixture)
{
	struct gate_counters counters;

	await_calls();
	counters = counters_of(pid, fixture);
	assert_true(counters.magic == MAGIC && !counters.hold);
	for (size_t i = 0; i < FUNCTIONS; i++)
		assert_true(counters.counts[i] > 0);
}

static void place_and_remove(int threads, bool naps, size_t rounds)
{
	pid_t pid = start_threaded(threads, naps);
	struct times placing = {0}, removing = {0};
	size_t files = count_files(pid);
	static struct gate_fixture fixture;

	prepare(&fixture, area_for(pid));
	for (size_t i = 0; i < rounds; i++) {
		struct gate_stop stop;
		bool left;

		assert_int_equal(place(pid, &fixture, &stop), 0);
		add_time(&placing, &stop);
		assert_true(is_mapped(pid, fixture.image.address, CODE_SIZE));
		expect_calls_counted(pid, &fixture);
		assert_int_equal(count_files(pid), files);
		assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
		add_time(&removing, &stop);
		assert_false(left);
		expect_nothing(pid, &fixture);
		await_calls();
	}
	assert_int_equal(count_files(pid), files);
	end(pid);
	print_message("%d %s threads\n", threads, naps ? "mostly idle" : "busy");
	print_times("placing", &placing);
	print_times("removing", &removing);
}

static void test_place_and_remove(void **state)
{
	(void)state;
	place_and_remove(THREADS, false, rounds_of(ROUNDS / 2));
	place_and_remove(THREADS, true, rounds_of(ROUNDS / 2));
}

static void test_many_threads(void **state)
{
	(void)state;
	place_and_remove(THREADS_MAX, true, rounds_of(20));
}

/* fork. */

static void fork_when_told(void)
{
	pid_t pid;

	start_threads();
	while (!board->go)
		board->counts[0] += results_are_right(1);
	pid = fork();
	if (!pid) {
		const uint64_t *words = (const uint64_t *)(uintptr_t)board->data;

		for (size_t i = 0; i < DATA_SIZE / sizeof(*words); i++)
			board->seen += words[i] != 0;
		_exit(!results_are_right(2) || words[2] != 1);
	}
	waitpid(pid, (int *)&board->in_handler, 0);
	call_functions((void *)&board->counts[0]);
}

static void test_data_of_forked_child_is_zero(void **state)
{
	static struct gate_fixture fixture;
	struct gate_stop stop;
	pid_t pid;
	bool left;

	(void)state;
	fresh_board();
	board->threads = THREADS;
	pid = start(fork_when_told);
	await_calls();
	prepare(&fixture, area_for(pid));
	board->data = fixture.image.address + CODE_SIZE;
	assert_int_equal(place(pid, &fixture, &stop), 0);
	await_calls();
	board->go = true;
	await_calls();
	assert_int_equal(board->seen, 0);
	assert_false(board->in_handler); /* the child has exited with status 0 */
	assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
	assert_false(left);
	end(pid);
}

/* Threads that are inside. */

static void *hidden_page;

/* A handler that returns when the page can be read. */
static void handle_fault(int signal_number)
{
	(void)signal_number;
	board->in_handler = true;
	while (!board->go)
		nap_us(100);
	mprotect(hidden_page, GATE_PAGE, PROT_READ);
	board->in_handler = false;
}

static void read_hidden_page(void)
{
	struct sigaction action = {.sa_handler = handle_fault};

	sigaction(SIGSEGV, &action, NULL);
	hidden_page = mmap(NULL, GATE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (reading_function(hidden_page) != 3)
		board->errors++;
	call_functions((void *)&board->counts[0]);
}

/* The first try to place fails after 50 stops. In the second one the handler returns meanwhile. */
static void test_handler_is_waited_for(void **state)
{
	static struct gate_fixture fixture;
	struct gate_stop stop;
	struct gate_board *shared;
	pid_t pid, waker;

	(void)state;
	fresh_board();
	board->threads = 1;
	shared = board;
	pid = start(read_hidden_page);
	while (!board->in_handler)
		sched_yield();
	prepare(&fixture, area_for(pid));
	assert_int_equal(place(pid, &fixture, &stop), -EAGAIN);
	assert_int_equal(stop.tries, 50);
	expect_nothing(pid, &fixture);
	waker = fork();
	if (!waker) {
		nap_us(8000);
		shared->go = true;
		_exit(0);
	}
	assert_int_equal(place(pid, &fixture, &stop), 0);
	assert_true(stop.tries > 1 && stop.tries < 50);
	waitpid(waker, NULL, 0);
	expect_calls_counted(pid, &fixture);
	end(pid);
}

/* A thread that waits in the code of a gate keeps it mapped, but the jumps are gone. */
static void test_code_in_use_is_left(void **state)
{
	static struct gate_fixture fixture;
	const uint64_t none = 0;
	struct gate_stop stop;
	pid_t pid = start_calling(1);
	bool left;

	(void)state;
	prepare(&fixture, area_for(pid));
	fixture.counters.hold = 1;
	assert_int_equal(place(pid, &fixture, &stop), 0);
	while (!counters_of(pid, &fixture).counts[0])
		sched_yield();
	assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
	assert_true(left);
	assert_int_equal(stop.tries, 50);
	for (size_t i = 0; i < FUNCTIONS; i++)
		assert_true(has_bytes(pid, fixture.patches[i].address, fixture.patches[i].original,
				      fixture.patches[i].displaced));
	poke(pid, fixture.image.address + CODE_SIZE + offsetof(struct gate_counters, hold), &none,
	     sizeof(none));
	await_calls();
	assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
	assert_false(left);
	expect_nothing(pid, &fixture);
	end(pid);
}

/* Deaths of the tracer. */

static size_t list_children(pid_t children[CHILDREN_MAX])
{
	char path[64], text[256], *at = text, *next;
	size_t count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	while (count < CHILDREN_MAX &&
	       (children[count] = (pid_t)strtol(at, &next, 10), next != at)) {
		count++;
		at = next;
	}
	return count;
}

/* The helper of a dead tracer becomes our child (PR_SET_CHILD_SUBREAPER). */
static void await_helper(pid_t pid)
{
	pid_t children[CHILDREN_MAX];
	int settles = 0;

	while (list_children(children) > 1) {
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

/* Other tools. */

static void test_breakpoint_is_refused(void **state)
{
	static const uint8_t breakpoint = 0xcc;
	static struct gate_fixture fixture;
	struct gate_stop stop;
	uint64_t entry;
	pid_t pid;

	(void)state;
	fresh_board();
	pid = start((void (*)(void))pause);
	prepare(&fixture, area_for(pid));
	entry = fixture.patches[2].address;
	poke(pid, entry, &breakpoint, 1);
	assert_int_equal(place(pid, &fixture, &stop), -EBUSY);
	assert_false(is_mapped(pid, fixture.image.address, CODE_SIZE + DATA_SIZE));
	poke(pid, entry, fixture.patches[2].original, 1);
	expect_nothing(pid, &fixture);
	end(pid);
}

/* The code stays, because the other tool will restore the jump. */
static void test_breakpoint_on_jump_is_left(void **state)
{
	static const uint8_t breakpoint = 0xcc;
	static struct gate_fixture fixture;
	struct gate_stop stop;
	uint64_t entry;
	pid_t pid;
	bool left;

	(void)state;
	fresh_board();
	pid = start((void (*)(void))pause);
	prepare(&fixture, area_for(pid));
	entry = fixture.patches[1].address;
	assert_int_equal(place(pid, &fixture, &stop), 0);
	poke(pid, entry, &breakpoint, 1);
	assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
	assert_true(left);
	assert_true(has_bytes(pid, entry, &breakpoint, 1));
	assert_true(is_mapped(pid, fixture.image.address, CODE_SIZE));
	poke(pid, entry, fixture.patches[1].jump, 1);
	assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
	assert_false(left);
	expect_nothing(pid, &fixture);
	end(pid);
}

/* The data's place is free, the code's is not: the data is unmapped again. */
static void test_occupied_address_is_refused(void **state)
{
	static struct gate_fixture fixture;
	struct gate_stop stop;
	uint64_t address;
	size_t files;
	pid_t pid;

	(void)state;
	fresh_board();
	address = area_for(getpid());
	assert_ptr_equal(mmap((void *)(uintptr_t)address, CODE_SIZE, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 (void *)(uintptr_t)address);
	pid = start((void (*)(void))pause);
	munmap((void *)(uintptr_t)address, CODE_SIZE);
	files = count_files(pid);
	prepare(&fixture, address);
	assert_int_equal(place(pid, &fixture, &stop), -EEXIST);
	assert_int_equal(count_files(pid), files);
	assert_true(is_mapped(pid, address, CODE_SIZE));
	assert_false(is_mapped(pid, address + CODE_SIZE, DATA_SIZE));
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
	pid = start(exec_when_told);
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
		pid = start(exec_when_told);
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
			gate_remove(pid, &fixture.image, fixture.patches, FUNCTIONS, &left, &stop,
				    NULL);
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
			nap_us(1000 + i * 700);
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

/* Refusals. */

static void filter_calls(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	board->errors = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
	call_functions((void *)&board->counts[0]);
}

static void spin_without_thread_pointer(void)
{
	volatile uint64_t *count = &board->counts[0];

	__asm__ volatile("syscall\n 1: incq (%%rbx)\n jmp 1b\n"
			 :
			 : "a"(SYS_arch_prctl), "D"(ARCH_SET_FS), "S"(0), "b"(count)
			 : "rcx", "r11", "memory");
}

static void expect_refusal(void (*run)(void), int expected)
{
	static struct gate_fixture fixture;
	struct gate_stop stop;
	pid_t pid;

	fresh_board();
	board->threads = 1;
	pid = start(run);
	await_calls();
	prepare(&fixture, area_for(pid));
	assert_int_equal(place(pid, &fixture, &stop), expected);
	assert_int_equal(stop.tries, 1);
	expect_nothing(pid, &fixture);
	await_calls();
	end(pid);
}

static void test_refusals(void **state)
{
	(void)state;
	expect_refusal(filter_calls, -EPERM);
	expect_refusal(spin_without_thread_pointer, -EOPNOTSUPP);
}

/* After a failure. */
static int kill_children(void **state)
{
	pid_t children[CHILDREN_MAX];
	size_t count = list_children(children);

	(void)state;
	while (count--) {
		kill(children[count], SIGKILL);
		waitpid(children[count], NULL, 0);
	}
	return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, kill_children)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_place_and_remove),
		TEST(test_many_threads),
		TEST(test_data_of_forked_child_is_zero),
		TEST(test_handler_is_waited_for),
		TEST(test_code_in_use_is_left),
		TEST(test_killed_tracer),
		TEST(test_breakpoint_is_refused),
		TEST(test_breakpoint_on_jump_is_left),
		TEST(test_occupied_address_is_refused),
		TEST(test_exec_removes_gates),
		TEST(test_exec_meanwhile),
		TEST(test_exited_process),
		TEST(test_killed_process),
		TEST(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "gate/place.h"

static void test_other_architectures_are_refused(void **state)
{
	struct gate_stop stop;

	(void)state;
	assert_true(gate_place(getppid(), NULL, NULL, 0, &stop, NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_architectures_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
