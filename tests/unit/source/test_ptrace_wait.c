// SPDX-License-Identifier: GPL-2.0-or-later
/* Whichever way it waits, stop_await misses no stops, exits and interrupts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/ptrace/tracer/wait.h"

#define STOPS     1000
#define SELDOM    50
#define SELDOM_US 1000 /* longer than it polls */
#define TICK_US   10000

static pid_t start(int stops, useconds_t nap_us)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (int i = 0; i < stops; i++) {
		if (nap_us)
			usleep(nap_us);
		raise(SIGUSR1);
	}
	_exit(7);
}

static void expect_all(struct stop_wait *wait, int stops, useconds_t nap_us)
{
	pid_t pid = start(stops, nap_us);
	int status;

	for (int i = 0; i < stops; i++) {
		assert_int_equal(stop_await(wait, &status), pid);
		assert_true(WIFSTOPPED(status));
		assert_int_equal(WSTOPSIG(status), SIGUSR1);
		assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	}
	assert_int_equal(stop_await(wait, &status), pid);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(stop_await(wait, &status), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_all_stops_are_reported(void **state)
{
	struct stop_wait wait;

	(void)state;
	stop_wait_begin(&wait);
	for (int i = 0; i < 3; i++) {
		expect_all(&wait, STOPS, 0);
		expect_all(&wait, SELDOM, SELDOM_US);
	}
}

/* The process can only run on our own processor, so polling would block it. */
static void test_one_processor(void **state)
{
	cpu_set_t all, one;
	struct stop_wait wait;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	stop_wait_begin(&wait);
	assert_true(wait.alone);
	expect_all(&wait, STOPS, 0);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void interrupted(int number)
{
	(void)number;
}

static void test_interrupts(void **state)
{
	const struct sigaction action = {.sa_handler = interrupted};
	const struct itimerval ticks = {{0, TICK_US}, {0, TICK_US}}, none = {0};
	struct stop_wait wait;
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (!pid)
		for (;;)
			pause();
	sigaction(SIGALRM, &action, NULL);
	stop_wait_begin(&wait);
	setitimer(ITIMER_REAL, &ticks, NULL);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(stop_await(&wait, &status), -1);
		assert_int_equal(errno, EINTR);
	}
	setitimer(ITIMER_REAL, &none, NULL);
	kill(pid, SIGKILL);
	assert_int_equal(stop_await(&wait, &status), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_stops_are_reported),
		cmocka_unit_test(test_one_processor),
		cmocka_unit_test(test_interrupts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
