/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stopping real children, and what they notice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/maps.h"
#include "os/ptrace/freeze.h"

#define MARK    0x5ca1ab1e0ddba11ULL
#define THREADS 8

/* Shared memory of parent and child. */
struct board {
	volatile uint64_t count;
	volatile uint64_t threads;
	volatile uint64_t signals;
	volatile int error;
	volatile int go;
};

struct child {
	pid_t pid;
	struct board *board;
};

static struct child child_start(void (*run)(struct board *))
{
	struct child child;

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

static void child_end(struct child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	munmap(child->board, sizeof(*child->board));
}

static void wait_for_change(volatile uint64_t *value)
{
	uint64_t before = *value;

	while (*value == before)
		usleep(100);
}

static void expect_still(volatile uint64_t *value)
{
	uint64_t before = *value;

	usleep(20000);
	assert_int_equal(*value, before);
}

static void count_for_ever(struct board *board)
{
	for (;;)
		board->count++;
}

static void test_stop_and_go(void **state)
{
	struct child child = child_start(count_for_ever);
	struct freeze *freeze;
	size_t count;

	(void)state;
	wait_for_change(&child.board->count);
	assert_int_equal(freeze_stop(&freeze, child.pid, NULL), 0);
	expect_still(&child.board->count);
	assert_int_equal(freeze_threads(freeze, &count)->tid, child.pid);
	assert_int_equal(count, 1);
	freeze_release(freeze);
	wait_for_change(&child.board->count);
	child_end(&child);
}

static void hold_mark(struct board *board)
{
#if defined(__x86_64__)
	/* The address is in rbx and xmm7, and nowhere in memory. */
	__asm__ volatile("mov %1, %%rbx\n"
			 "not %%rbx\n"
			 "movq %%rbx, %%xmm7\n"
			 "1: incq %0\n"
			 "jmp 1b\n"
			 : "+m"(board->count)
			 : "r"(~MARK)
			 : "rbx", "xmm7");
#else
	count_for_ever(board);
#endif
}

static size_t occurrences(const struct thread_registers *registers, uint64_t word)
{
	size_t found = 0;

	for (size_t at = 0; at + 8 <= registers->size; at += 8)
		found += !memcmp((const char *)registers->bytes + at, &word, 8);
	return found;
}

static void check_registers(const struct thread_registers *registers, pid_t pid)
{
	struct proc_maps maps;
	size_t i = 0;

#if defined(__x86_64__)
	assert_true(occurrences(registers, MARK) >= 2);
#endif
	assert_int_equal(registers->word, sizeof(void *));
	assert_int_equal(proc_maps_read(pid, &maps), 0);
	while (i < maps.count && strcmp(maps.items[i].path, "[stack]"))
		i++;
	assert_true(i < maps.count);
	assert_in_range(registers->stack, maps.items[i].start, maps.items[i].end);
	proc_maps_free(&maps);
}

static void test_registers(void **state)
{
	struct child child = child_start(hold_mark);
	struct freeze *freeze;
	size_t count;

	(void)state;
	wait_for_change(&child.board->count);
	assert_int_equal(freeze_stop(&freeze, child.pid, NULL), 0);
	check_registers(freeze_threads(freeze, &count), child.pid);
	freeze_release(freeze);
	assert_int_equal(freeze_sample(&freeze, child.pid, NULL), 0);
	check_registers(freeze_threads(freeze, &count), child.pid);
	wait_for_change(&child.board->count); /* continues while we keep the sample */
	freeze_release(freeze);
	child_end(&child);
}

static void *thread_short(void *board)
{
	__atomic_add_fetch(&((struct board *)board)->count, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *thread_breeds(void *board)
{
	__atomic_add_fetch(&((struct board *)board)->threads, 1, __ATOMIC_RELAXED);
	for (;;) {
		pthread_t thread;

		if (!pthread_create(&thread, NULL, thread_short, board))
			pthread_join(thread, NULL);
	}
	return NULL;
}

static void breed(struct board *board)
{
	pthread_t thread;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, thread_breeds, board);
	pause();
}

/* Thousands of threads are created and exit while the process is stopped and continued. */
static void test_threads_created_and_exiting(void **state)
{
	struct child child = child_start(breed);
	struct freeze *freeze;
	size_t count;

	(void)state;
	while (child.board->threads < THREADS)
		usleep(1000);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(freeze_stop(&freeze, child.pid, NULL), 0);
		freeze_threads(freeze, &count);
		assert_true(count >= THREADS + 1);
		if (i % 10 == 0)
			expect_still(&child.board->count);
		freeze_release(freeze);
	}
	while (child.board->count < 1000)
		usleep(1000);
	wait_for_change(&child.board->count);
	child_end(&child);
}

static void *thread_waits(void *board)
{
	__atomic_add_fetch(&((struct board *)board)->threads, 1, __ATOMIC_RELAXED);
	for (;;)
		pause();
	return NULL;
}

static void many_threads(struct board *board)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 * 1024);
	for (int i = 0; i < 999; i++)
		if (pthread_create(&thread, &attributes, thread_waits, board))
			board->error = 1;
	count_for_ever(board);
}

static void test_a_thousand_threads(void **state)
{
	struct child child = child_start(many_threads);
	const struct thread_registers *threads;
	struct freeze *freeze;
	size_t count;

	(void)state;
	while (child.board->threads < 999 && !child.board->error)
		usleep(1000);
	assert_int_equal(child.board->error, 0);
	assert_int_equal(freeze_stop(&freeze, child.pid, NULL), 0);
	expect_still(&child.board->count);
	threads = freeze_threads(freeze, &count);
	assert_int_equal(count, 1000);
	for (size_t i = 0; i < count; i++)
		assert_true(threads[i].stack && threads[i].size);
	freeze_release(freeze);
	wait_for_change(&child.board->count);
	child_end(&child);
}

static struct board *volatile handlers_board;

static void count_signal(int signal_number, siginfo_t *info, void *context)
{
	(void)signal_number;
	(void)context;
	handlers_board->signals++;
	handlers_board->error += info->si_value.sival_int != (int)handlers_board->signals;
}

static void count_signals(struct board *board)
{
	struct sigaction action = {.sa_sigaction = count_signal, .sa_flags = SA_SIGINFO};

	handlers_board = board;
	sigaction(SIGRTMIN, &action, NULL);
	count_for_ever(board);
}

/* However often we stop the process, queued signals arrive in order, with their values. */
static void test_signals(void **state)
{
	struct child child = child_start(count_signals);
	struct freeze *freeze;
	int sent = 0;

	(void)state;
	wait_for_change(&child.board->count);
	for (int i = 0; i < 100; i++) {
		for (int j = 0; j < 5; j++)
			assert_int_equal(
				sigqueue(child.pid, SIGRTMIN, (union sigval){.sival_int = ++sent}),
				0);
		assert_int_equal(freeze_stop(&freeze, child.pid, NULL), 0);
		assert_int_equal(sigqueue(child.pid, SIGRTMIN, (union sigval){.sival_int = ++sent}),
				 0);
		freeze_release(freeze);
	}
	while (child.board->signals < 600)
		usleep(1000);
	assert_int_equal(child.board->signals, 600);
	assert_int_equal(child.board->error, 0);
	child_end(&child);
}

/* A process that is already stopped can be read, and stays stopped. */
static void test_stopped_before(void **state)
{
	struct child child = child_start(count_for_ever);
	struct freeze *freeze;
	int status;

	(void)state;
	wait_for_change(&child.board->count);
	kill(child.pid, SIGSTOP);
	assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
	assert_int_equal(freeze_stop(&freeze, child.pid, NULL), 0);
	freeze_release(freeze);
	usleep(10000);
	expect_still(&child.board->count);
	kill(child.pid, SIGCONT);
	wait_for_change(&child.board->count);
	child_end(&child);
}

static void poll_for_ever(struct board *board)
{
	int epoll = epoll_create1(0);
	struct epoll_event event;

	for (;;) {
		board->count++;
		if (epoll_wait(epoll, &event, 1, 50) < 0 && errno != EINTR)
			board->error = errno;
	}
}

/* epoll_wait may return EINTR, as the header says, but no other error. */
static void test_epoll(void **state)
{
	struct child child = child_start(poll_for_ever);
	struct freeze *freeze;

	(void)state;
	wait_for_change(&child.board->count);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(freeze_stop(&freeze, child.pid, NULL), 0);
		freeze_release(freeze);
	}
	wait_for_change(&child.board->count);
	assert_int_equal(child.board->error, 0);
	child_end(&child);
}

/* The tracer is killed while the process is stopped. */
static void test_killed_tracer(void **state)
{
	struct child child = child_start(count_for_ever);
	struct freeze *freeze;
	int ready[2];
	pid_t tracer;
	char byte;

	(void)state;
	wait_for_change(&child.board->count);
	assert_int_equal(pipe(ready), 0);
	tracer = fork();
	if (!tracer) {
		byte = freeze_stop(&freeze, child.pid, NULL) ? 'e' : 's';
		_exit(write(ready[1], &byte, 1) == 1 ? pause() : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 's');
	expect_still(&child.board->count);
	kill(tracer, SIGKILL);
	assert_int_equal(waitpid(tracer, NULL, 0), tracer);
	wait_for_change(&child.board->count);
	close(ready[0]);
	close(ready[1]);
	child_end(&child);
}

/* A stopped process is killed: its parent still gets its status. */
static void test_death_while_stopped(void **state)
{
	struct child child = child_start(count_for_ever);
	struct freeze *freeze;

	(void)state;
	wait_for_change(&child.board->count);
	assert_int_equal(freeze_stop(&freeze, child.pid, NULL), 0);
	kill(child.pid, SIGKILL);
	usleep(10000);
	freeze_release(freeze);
	child_end(&child);
}

static void test_traced_already(void **state)
{
	struct child child = child_start(count_for_ever);
	struct freeze *freeze;
	struct error err;
	char tracer[32];

	(void)state;
	wait_for_change(&child.board->count);
	assert_int_equal(ptrace(PTRACE_SEIZE, child.pid, NULL, NULL), 0);
	assert_int_equal(freeze_stop(&freeze, child.pid, &err), -EPERM);
	snprintf(tracer, sizeof(tracer), "process %d already traces it", (int)getpid());
	assert_non_null(strstr(err.text, tracer));
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child.pid, NULL, NULL), 0);
	assert_int_equal(waitpid(child.pid, NULL, __WALL), child.pid);
	assert_int_equal(ptrace(PTRACE_DETACH, child.pid, NULL, NULL), 0);
	child_end(&child);
}

static void vfork_until_go(struct board *board)
{
	pid_t child = vfork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!board->go) {
			board->count++;
			usleep(1000);
		}
		_exit(0);
	}
	count_for_ever(board);
}

/* A parent in vfork cannot be stopped. The error comes in time, and no thread stays stopped. */
static void test_vfork(void **state)
{
	struct child child = child_start(vfork_until_go);
	struct freeze *freeze;
	struct error err;

	(void)state;
	while (!child.board->count)
		usleep(100);
	assert_int_equal(freeze_stop(&freeze, child.pid, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.text, "is in uninterruptible sleep"));
	child.board->go = 1;
	while (child.board->count < 1000)
		usleep(1000);
	child_end(&child);
}

static void test_gone(void **state)
{
	struct child child = child_start(count_for_ever);
	struct freeze *freeze;
	struct error err;

	(void)state;
	kill(child.pid, SIGKILL);
	while (waitid(P_PID, (id_t)child.pid, &(siginfo_t){0}, WEXITED | WNOWAIT))
		;
	assert_int_equal(freeze_stop(&freeze, child.pid, &err), -ESRCH);
	child_end(&child);
	assert_int_equal(freeze_stop(&freeze, child.pid, &err), -ESRCH);
	assert_int_equal(freeze_sample(&freeze, child.pid, &err), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop_and_go),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_threads_created_and_exiting),
		cmocka_unit_test(test_a_thousand_threads),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_stopped_before),
		cmocka_unit_test(test_epoll),
		cmocka_unit_test(test_killed_tracer),
		cmocka_unit_test(test_death_while_stopped),
		cmocka_unit_test(test_traced_already),
		cmocka_unit_test(test_vfork),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
