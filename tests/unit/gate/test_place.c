/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gates in real children, whose threads call the functions all the time and check the results. */
#if defined(__x86_64__)

#include "tests/unit/gate/gate_child.h"

#include <asm/prctl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "os/ptrace/tracee.h"

#define BUSY_ROUNDS 60
#define IDLE_ROUNDS 140
#define MANY_ROUNDS 10
#define THREADS     4

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
	place_and_remove(THREADS, false, rounds_of(BUSY_ROUNDS));
	place_and_remove(THREADS, true, rounds_of(IDLE_ROUNDS));
}

static void test_many_threads(void **state)
{
	(void)state;
	place_and_remove(THREADS_MAX, true, rounds_of(MANY_ROUNDS));
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
	pid = child_start(fork_when_told);
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

static void await_tracer(pid_t pid, bool traced)
{
	while ((tracee_tracer(pid, pid) != 0) != traced)
		sched_yield();
}

/* The first try to place fails after 50 stops. In the second one the handler returns meanwhile. */
static void test_handler_is_waited_for(void **state)
{
	static struct gate_fixture fixture;
	struct gate_stop stop;
	struct gate_board *shared;
	pid_t pid = start_in_handler(), waker;

	(void)state;
	shared = board;
	prepare(&fixture, area_for(pid));
	assert_int_equal(place(pid, &fixture, &stop), -EAGAIN);
	assert_int_equal(stop.tries, 50);
	expect_nothing(pid, &fixture);
	waker = fork();
	if (!waker) {
		await_tracer(pid, true);
		await_tracer(pid, false);
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

/* Unusual states. */

static char state_of(pid_t pid)
{
	struct proc_info info;
	char found;

	assert_int_equal(proc_info_read(pid, &info), 0);
	found = info.state;
	proc_info_free(&info);
	return found;
}

/* It stays stopped by job control. */
static void test_stopped_process(void **state)
{
	static struct gate_fixture fixture;
	struct gate_stop stop;
	pid_t pid = start_calling(THREADS);
	int status;
	bool left;

	(void)state;
	prepare(&fixture, area_for(pid));
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(place(pid, &fixture, &stop), 0);
	nap_us(5000);
	assert_int_equal(state_of(pid), 'T');
	kill(pid, SIGCONT);
	expect_calls_counted(pid, &fixture);
	assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
	assert_false(left);
	end(pid);
}

static void exit_leader(void)
{
	start_threads();
	syscall(SYS_exit, 0);
}

static void await_second_thread(void)
{
	uint64_t before = board->counts[1];

	while (board->counts[1] < before + 2)
		sched_yield();
}

static void test_exited_leader(void **state)
{
	static struct gate_fixture fixture;
	struct gate_stop stop;
	pid_t pid, thread;
	bool left;

	(void)state;
	fresh_board();
	board->threads = 2;
	pid = child_start(exit_leader);
	while (state_of(pid) != 'Z')
		sched_yield();
	await_second_thread();
	thread = proc_living_thread(pid);
	assert_int_not_equal(thread, pid);
	prepare(&fixture, area_for(pid));
	assert_int_equal(place(pid, &fixture, &stop), 0);
	await_second_thread();
	assert_true(counters_of(thread, &fixture).counts[0] > 0);
	assert_int_equal(take_away(pid, &fixture, &left, &stop), 0);
	assert_false(left);
	expect_nothing(thread, &fixture);
	await_second_thread();
	end(pid);
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
	pid = child_start((void (*)(void))pause);
	prepare(&fixture, area_for(pid));
	entry = fixture.patches[2].address;
	poke(pid, entry, &breakpoint, 1);
	assert_int_equal(place(pid, &fixture, &stop), -EBUSY);
	assert_false(is_mapped(pid, fixture.image.address, CODE_SIZE + DATA_SIZE));
	poke(pid, entry, fixture.patches[2].original, 1);
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
	pid = child_start((void (*)(void))pause);
	munmap((void *)(uintptr_t)address, CODE_SIZE);
	files = count_files(pid);
	prepare(&fixture, address);
	assert_int_equal(place(pid, &fixture, &stop), -EEXIST);
	assert_int_equal(count_files(pid), files);
	assert_true(is_mapped(pid, address, CODE_SIZE));
	assert_false(is_mapped(pid, address + CODE_SIZE, DATA_SIZE));
	end(pid);
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
	pid = child_start(run);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_place_and_remove),
		TEST(test_many_threads),
		TEST(test_data_of_forked_child_is_zero),
		TEST(test_handler_is_waited_for),
		TEST(test_code_in_use_is_left),
		TEST(test_stopped_process),
		TEST(test_exited_leader),
		TEST(test_breakpoint_is_refused),
		TEST(test_occupied_address_is_refused),
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

#include "gate/place/place.h"

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
