/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Remote system calls in threads that are blocked in system calls, with and without signals: the
 * child checks what its calls return and which signals it gets.
 */
#if defined(__x86_64__)

#include "tests/unit/os/remote_child.h"

#include <poll.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>

#define SLEEP_NS 20000000
#define LONG_S   100000

static int pipe_of[CALLS][2];

/* Blocked system calls. Each returns its result as the kernel does. */

static long result_of(long result)
{
	return result < 0 ? -errno : result;
}

static long call_read(int i)
{
	char byte;

	return result_of(syscall(SYS_read, pipe_of[i][0], &byte, 1));
}

static long call_poll(int i)
{
	struct pollfd fd = {.fd = pipe_of[i][0], .events = POLLIN};

	return result_of(syscall(SYS_poll, &fd, 1, -1));
}

static long call_poll_timeout(int i)
{
	struct pollfd fd = {.fd = pipe_of[i][0], .events = POLLIN};

	return result_of(syscall(SYS_poll, &fd, 1, LONG_S * 1000));
}

static long call_ppoll(int i)
{
	struct pollfd fd = {.fd = pipe_of[i][0], .events = POLLIN};
	struct timespec timeout = {.tv_sec = LONG_S};
	uint64_t mask = 0;

	return result_of(syscall(SYS_ppoll, &fd, 1, &timeout, &mask, sizeof(mask)));
}

static long call_epoll(int i)
{
	struct epoll_event event = {.events = EPOLLIN};
	int file = epoll_create1(0);
	long result;

	epoll_ctl(file, EPOLL_CTL_ADD, pipe_of[i][0], &event);
	result = result_of(syscall(SYS_epoll_wait, file, &event, 1, -1));
	close(file);
	return result;
}

static long wait_futex(int i, const struct timespec *timeout)
{
	return result_of(syscall(SYS_futex, &board->futex[i], FUTEX_WAIT, 0, timeout, NULL, 0));
}

static long call_futex(int i)
{
	(void)i;
	return wait_futex(0, NULL);
}

static long call_futex_timeout(int i)
{
	const struct timespec timeout = {.tv_sec = LONG_S};

	(void)i;
	return wait_futex(1, &timeout);
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000ULL + (uint64_t)time->tv_nsec;
}

/* A short sleep that must not be shorter. */
static long call_nanosleep(int i)
{
	const struct timespec length = {.tv_nsec = SLEEP_NS};
	struct timespec before, after;
	long result;

	(void)i;
	clock_gettime(CLOCK_MONOTONIC, &before);
	result = result_of(syscall(SYS_nanosleep, &length, NULL));
	clock_gettime(CLOCK_MONOTONIC, &after);
	if (!result && ns_of(&after) - ns_of(&before) < SLEEP_NS)
		return -ETIME;
	if (!result && !board->go)
		return -EAGAIN;
	return result;
}

static long call_read_after_error(int i)
{
	char byte;

	return result_of(syscall(SYS_pread64, pipe_of[i][0], &byte, 1, 0)) == -ESPIPE ? call_read(i)
										      : -EBADF;
}

struct blocked_call {
	const char *name;
	long number;
	long (*run)(int i);
	long expected;
	bool restarts; /* after a handler with SA_RESTART */
};

static const struct blocked_call calls[CALLS] = {
	{"read", SYS_read, call_read, 1, true},
	{"poll", SYS_poll, call_poll, 1, false},
	{"poll with a timeout", SYS_poll, call_poll_timeout, 1, false},
	{"ppoll", SYS_ppoll, call_ppoll, 1, false},
	{"epoll_wait", SYS_epoll_wait, call_epoll, 1, false},
	{"futex", SYS_futex, call_futex, 0, true},
	{"futex with a timeout", SYS_futex, call_futex_timeout, 0, false},
	{"nanosleep", SYS_nanosleep, call_nanosleep, 0, false},
	{"read after an error", SYS_read, call_read_after_error, 1, true},
};

static __thread int own_index;

/* Values count up from 1: each signal arrives once, and in order. */
static void count_signal(int signal_number, siginfo_t *info, void *context)
{
	(void)signal_number;
	(void)context;
	if (info->si_value.sival_int != (int)++board->signals[own_index])
		board->errors++;
}

static void *make_blocked_call(void *argument)
{
	int i = (int)(intptr_t)argument;
	long result;

	own_index = i;
	board->tid[i] = (pid_t)syscall(SYS_gettid);
	do {
		result = calls[i].run(i);
		board->interrupts[i] += result == -EINTR;
	} while (result == -EINTR || result == -EAGAIN);
	if (result != calls[i].expected) {
		board->errors++;
		fprintf(stderr, "%s returned %ld\n", calls[i].name, result);
	}
	return NULL;
}

static void make_blocked_calls(void)
{
	struct sigaction action = {.sa_sigaction = count_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	pthread_t threads[CALLS];

	sigaction(SIGRTMIN, &action, NULL);
	for (intptr_t i = 0; i < CALLS; i++)
		pthread_create(&threads[i], NULL, make_blocked_call, (void *)i);
	for (int i = 0; i < CALLS; i++)
		pthread_join(threads[i], NULL);
	_exit(board->errors ? 1 : 0);
}

static bool is_blocked(pid_t pid, int i)
{
	long number = board->tid[i] ? tracee_call(pid, board->tid[i]) : -1;

	return number == calls[i].number || number == SYS_restart_syscall;
}

static void await_blocked(pid_t pid)
{
	for (int i = 0; i < CALLS; i++)
		while (!is_blocked(pid, i))
			sched_yield();
}

static pid_t start_blocked(void)
{
	pid_t pid;

	for (int i = 0; i < CALLS; i++)
		assert_int_equal(pipe(pipe_of[i]), 0);
	pid = start(make_blocked_calls);
	await_blocked(pid);
	return pid;
}

static void close_pipes(void)
{
	for (int i = 0; i < CALLS; i++) {
		close(pipe_of[i][0]);
		close(pipe_of[i][1]);
	}
}

/* Lets the calls return, and waits for the child's verdict. */
static void finish_blocked(pid_t pid)
{
	int status;

	board->go = 1;
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(write(pipe_of[i][1], "x", 1), 1);
	for (int i = 0; i < 2; i++) {
		board->futex[i] = 0;
		while (syscall(SYS_futex, &board->futex[i], FUTEX_WAKE, 1, NULL, NULL, 0) != 1)
			sched_yield();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(board->errors, 0);
	close_pipes();
}

static void test_blocked_calls_restart(void **state)
{
	pid_t pid = start_blocked();
	struct job job = job_for(pid);

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(run_job(&job), 0);
		await_blocked(pid);
	}
	finish_blocked(pid);
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(board->interrupts[i], 0);
}

/* Signals. */

static pid_t signalled;
static int sent[CALLS];

static void queue_signal(int i)
{
	siginfo_t info = {.si_code = SI_QUEUE};

	info.si_value.sival_int = ++sent[i];
	assert_int_equal(syscall(SYS_rt_tgsigqueueinfo, signalled, board->tid[i], SIGRTMIN, &info),
			 0);
}

static void queue_signals(int step)
{
	if (step % 3 == 0)
		for (int i = 0; i < CALLS; i++)
			queue_signal(i);
}

/* Each signal arrives once, in order. Calls that restart after a handler do, the others return
 * EINTR at most once for each signal. */
static void test_signals_arrive_once(void **state)
{
	pid_t pid = start_blocked();
	struct job job = job_for(pid);

	(void)state;
	signalled = pid;
	memset(sent, 0, sizeof(sent));
	job.at_step = queue_signals;
	for (int i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < CALLS; j++)
			queue_signal(j);
		assert_int_equal(run_job(&job), 0);
	}
	for (int i = 0; i < CALLS; i++)
		while (board->signals[i] < (uint64_t)sent[i])
			sched_yield();
	await_blocked(pid);
	finish_blocked(pid);
	for (int i = 0; i < CALLS; i++) {
		assert_int_equal(board->signals[i], sent[i]);
		assert_true(board->interrupts[i] <= (uint64_t)sent[i]);
		if (calls[i].restarts)
			assert_int_equal(board->interrupts[i], 0);
	}
}

static void stop_process(int step)
{
	if (step == 5)
		kill(signalled, SIGSTOP);
}

/* SIGSTOP cannot be blocked: the call completes, and the process is stopped afterwards. */
static void test_job_control_stop(void **state)
{
	pid_t pid = start(spin_with_registers);
	struct job job = job_for(pid);
	int status;

	(void)state;
	signalled = pid;
	job.at_step = stop_process;
	await_count();
	assert_int_equal(run_job(&job), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	job.at_step = NULL;
	job.same = true;
	assert_int_equal(run_job(&job), 0); /* a stopped process can make calls, too */
	kill(pid, SIGCONT);
	await_count();
	end(pid);
}

/* Deaths. */

static int death_step;
static pid_t victim;

static void kill_victim(int step)
{
	if (step == death_step)
		kill(victim, SIGKILL);
}

static void test_killed_process_with_blocked_threads(void **state)
{
	(void)state;
	for (death_step = 0; death_step < 24; death_step += 4) {
		pid_t pid = start_blocked();
		struct job job = job_for(pid);

		victim = pid;
		job.at_step = kill_victim;
		assert_int_equal(run_job(&job), -ESRCH);
		end(pid);
		close_pipes();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocked_calls_restart),
		cmocka_unit_test(test_signals_arrive_once),
		cmocka_unit_test(test_job_control_stop),
		cmocka_unit_test(test_killed_process_with_blocked_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
