// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptors that are passed to the probe closer are closed when it says so, even if it is killed.
 * The other end of a pipe shows when a descriptor is closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/probe_closer.h"

#define MANY 3000 /* more than fit into one request */

/* A closed descriptor number is no proof, because it may have been reused. End of file is one. */
static void assert_closed(int reader)
{
	char byte;

	assert_int_equal(read(reader, &byte, 1), 0);
	close(reader);
}

static void assert_open(int reader)
{
	char byte;

	fcntl(reader, F_SETFL, O_NONBLOCK);
	assert_int_equal(read(reader, &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
}

static void close_one_and_keep_one(const struct probe_closer *probe_closer, bool in_order)
{
	int one[2], other[2];

	assert_int_equal(pipe(one), 0);
	assert_int_equal(pipe(other), 0);
	probe_closer_close(probe_closer, &one[1], 1, in_order);
	assert_closed(one[0]);
	assert_open(other[0]);
	close(other[0]);
	close(other[1]);
}

static void test_probes_are_closed(void **state)
{
	struct probe_closer probe_closer;

	(void)state;
	assert_int_equal(probe_closer_start(&probe_closer), 0);
	close_one_and_keep_one(&probe_closer, false);
	close_one_and_keep_one(&probe_closer, true);
	probe_closer_close(&probe_closer, NULL, 0, true);
	probe_closer_end(&probe_closer);
	assert_int_equal(waitpid(-1, NULL, __WALL), -1);
}

static void test_closes_more_than_a_request_holds(void **state)
{
	const struct rlimit limit = {.rlim_cur = 2 * MANY, .rlim_max = 2 * MANY};
	int ends[2], *fds = calloc(MANY, sizeof(*fds));
	struct probe_closer probe_closer;

	(void)state;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		skip();
	assert_int_equal(probe_closer_start(&probe_closer), 0);
	assert_int_equal(pipe(ends), 0);
	for (size_t i = 0; i < MANY; i++)
		assert_true((fds[i] = dup(ends[1])) >= 0);
	close(ends[1]);
	assert_open(ends[0]);
	fcntl(ends[0], F_SETFL, 0);
	probe_closer_close(&probe_closer, fds, MANY, false);
	assert_closed(ends[0]);
	probe_closer_end(&probe_closer);
	free(fds);
}

static void test_killed_closer_is_replaced_by_its_parent(void **state)
{
	struct probe_closer probe_closer;

	(void)state;
	assert_int_equal(probe_closer_start(&probe_closer), 0);
	kill(probe_closer.pid, SIGKILL);
	close_one_and_keep_one(&probe_closer, false);
	probe_closer_end(&probe_closer);
}

static void test_terminal_signals_are_ignored(void **state)
{
	struct probe_closer probe_closer;

	(void)state;
	assert_int_equal(probe_closer_start(&probe_closer), 0);
	kill(probe_closer.pid, SIGTERM);
	kill(probe_closer.pid, SIGINT);
	close_one_and_keep_one(&probe_closer, false);
	assert_int_equal(kill(probe_closer.pid, 0), 0);
	probe_closer_end(&probe_closer);
}

static void stop(const struct probe_closer *probe_closer)
{
	siginfo_t info;

	kill(probe_closer->pid, SIGSTOP);
	assert_int_equal(waitid(P_PID, (id_t)probe_closer->pid, &info, WSTOPPED | __WALL), 0);
}

static void test_closing_is_asynchronous(void **state)
{
	int one[2], other[2];
	struct probe_closer probe_closer;

	(void)state;
	assert_int_equal(pipe(one) | pipe(other), 0);
	assert_int_equal(probe_closer_start(&probe_closer), 0);
	stop(&probe_closer);
	assert_int_equal(probe_closer_begin_close(&probe_closer, &one[1], 1), 1);
	assert_open(one[0]);
	assert_int_equal(probe_closer_begin_close(&probe_closer, &other[1], 1), 0);
	probe_closer_close(&probe_closer, NULL, 0, false);
	kill(probe_closer.pid, SIGCONT);
	probe_closer_close(&probe_closer, &other[1], 1, false);
	assert_closed(one[0]);
	assert_closed(other[0]);
	probe_closer_end(&probe_closer);
}

/* If the probe closer is killed, we close the rest ourselves. */
static void ends_when_all_is_closed(bool killed)
{
	struct probe_closer probe_closer;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(probe_closer_start(&probe_closer), 0);
	stop(&probe_closer);
	assert_int_equal(probe_closer_begin_close(&probe_closer, &ends[1], 1), 1);
	kill(probe_closer.pid, killed ? SIGKILL : SIGCONT);
	probe_closer_end(&probe_closer);
	assert_closed(ends[0]);
}

static void test_end_waits_for_the_closer(void **state)
{
	(void)state;
	ends_when_all_is_closed(false);
	ends_when_all_is_closed(true);
}

/* Only the child and the probe closer have this end of the pipe. */
static void test_rest_is_closed_if_the_parent_dies(void **state)
{
	int ends[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		struct probe_closer probe_closer;

		close(ends[0]);
		if (!probe_closer_start(&probe_closer))
			kill(getpid(), SIGKILL);
		_exit(EXIT_FAILURE);
	}
	close(ends[1]);
	assert_closed(ends[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probes_are_closed),
		cmocka_unit_test(test_closes_more_than_a_request_holds),
		cmocka_unit_test(test_killed_closer_is_replaced_by_its_parent),
		cmocka_unit_test(test_terminal_signals_are_ignored),
		cmocka_unit_test(test_closing_is_asynchronous),
		cmocka_unit_test(test_end_waits_for_the_closer),
		cmocka_unit_test(test_rest_is_closed_if_the_parent_dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
