/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/loop.h"

#define MS 1000000ULL

/* What a callback saw, and what it should do. */
struct seen {
	struct loop *loop;
	int calls;
	uint64_t sum; /* of all arguments */
	struct loop_watch *remove[2];
	int stop_after;
};

static void see(void *ctx, uint32_t what)
{
	struct seen *seen = ctx;

	seen->calls++;
	seen->sum += what;
	for (int i = 0; i < 2; i++) {
		loop_remove(seen->loop, seen->remove[i]);
		seen->remove[i] = NULL;
	}
	if (seen->calls == seen->stop_after)
		loop_stop(seen->loop);
}

static int setup(void **state)
{
	return loop_new((struct loop **)state);
}

static int teardown(void **state)
{
	loop_free(*state);
	return 0;
}

static void pipe_with_byte(int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
}

static void pipe_close(const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

static void test_nothing_to_do(void **state)
{
	assert_int_equal(loop_once(*state, 0), 0);
	loop_remove(*state, NULL);
	loop_free(NULL);
}

static void test_descriptor(void **state)
{
	struct seen seen = {.loop = *state};
	struct loop_watch *watch;
	int ends[2];
	char byte;

	pipe_with_byte(ends);
	assert_int_equal(loop_add_fd(*state, ends[0], EPOLLIN, see, &seen, &watch), 0);
	assert_int_equal(loop_once(*state, -1), 1);
	assert_int_equal(loop_once(*state, -1), 1); /* still readable: level-triggered */
	assert_int_equal(seen.sum, 2 * EPOLLIN);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(loop_once(*state, 0), 0);
	close(ends[1]);
	assert_int_equal(loop_once(*state, -1), 1);
	assert_int_equal(seen.sum, 2 * EPOLLIN + EPOLLHUP);
	loop_remove(*state, watch);
	assert_int_equal(loop_once(*state, 0), 0);
	assert_int_equal(fcntl(ends[0], F_GETFD), FD_CLOEXEC); /* still ours */
	close(ends[0]);
}

static void test_invalid_descriptors_and_signals(void **state)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(loop_add_fd(*state, -1, EPOLLIN, see, NULL, NULL), -EBADF);
	assert_int_equal(loop_add_fd(*state, file, EPOLLIN, see, NULL, NULL), -EPERM);
	assert_int_equal(loop_add_signal(*state, 0, see, NULL, NULL), -EINVAL);
	assert_int_equal(loop_add_signal(*state, 1000, see, NULL, NULL), -EINVAL);
	close(file);
}

/* Two watches are ready at once, and whichever runs first removes both. */
static void test_remove_within_callback(void **state)
{
	struct seen seen = {.loop = *state};
	int a[2], b[2];

	pipe_with_byte(a);
	pipe_with_byte(b);
	assert_int_equal(loop_add_fd(*state, a[0], EPOLLIN, see, &seen, &seen.remove[0]), 0);
	assert_int_equal(loop_add_fd(*state, b[0], EPOLLIN, see, &seen, &seen.remove[1]), 0);
	assert_int_equal(loop_once(*state, -1), 1);
	assert_int_equal(loop_once(*state, 0), 0);
	assert_int_equal(seen.calls, 1);
	pipe_close(a);
	pipe_close(b);
}

static void run_inner(void *ctx, uint32_t what)
{
	struct seen *seen = ctx;

	(void)what;
	if (!seen->calls)
		assert_int_equal(loop_once(seen->loop, -1) >= 1, 1);
}

/* A callback runs the loop, in which another callback removes both: the outer batch must not call
 * them. */
static void test_loop_within_callback(void **state)
{
	struct seen seen = {.loop = *state};
	int a[2], b[2];

	pipe_with_byte(a);
	pipe_with_byte(b);
	assert_int_equal(
		loop_add_fd(*state, a[0], EPOLLIN | EPOLLET, run_inner, &seen, &seen.remove[0]), 0);
	assert_int_equal(loop_add_fd(*state, b[0], EPOLLIN, see, &seen, &seen.remove[1]), 0);
	loop_once(*state, -1);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(loop_once(*state, 0), 0);
	pipe_close(a);
	pipe_close(b);
}

static void test_one_shot_timer(void **state)
{
	struct seen seen = {.loop = *state};

	assert_int_equal(loop_add_timer(*state, 2 * MS, 0, see, &seen, NULL), 0);
	assert_int_equal(loop_once(*state, -1), 1);
	assert_int_equal(loop_once(*state, 20), 0);
	assert_int_equal(seen.sum, 1);
}

static void test_timer_at_once(void **state)
{
	struct seen seen = {.loop = *state};

	assert_int_equal(loop_add_timer(*state, 0, 0, see, &seen, NULL), 0);
	assert_int_equal(loop_once(*state, -1), 1);
	assert_int_equal(seen.sum, 1);
}

static void test_periodic_timer(void **state)
{
	struct seen seen = {.loop = *state, .stop_after = 5};

	assert_int_equal(loop_add_timer(*state, MS, MS, see, &seen, NULL), 0);
	assert_int_equal(loop_run(*state), 0);
	assert_int_equal(seen.calls, 5);
	assert_true(seen.sum >= 5); /* the argument counts missed expirations */
}

static void test_stop_before_run(void **state)
{
	struct seen seen = {.loop = *state, .stop_after = 1};

	loop_stop(*state);
	assert_int_equal(loop_run(*state), 0);
	/* The stop counts once: the next run is not affected. */
	assert_int_equal(loop_add_timer(*state, 0, 0, see, &seen, NULL), 0);
	assert_int_equal(loop_run(*state), 0);
	assert_int_equal(seen.calls, 1);
}

static bool is_blocked(int signal_number)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, signal_number);
}

static void test_signal(void **state)
{
	struct seen seen = {.loop = *state};
	struct loop_watch *watch;

	assert_int_equal(loop_add_signal(*state, SIGUSR1, see, &seen, &watch), 0);
	assert_true(is_blocked(SIGUSR1));
	assert_false(sigismember(loop_original_mask(*state), SIGUSR1));
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(loop_once(*state, -1), 1);
	assert_int_equal(seen.sum, SIGUSR1);
	assert_int_equal(loop_once(*state, 0), 0);
	/* A pending signal is discarded with its watch. Otherwise it would kill this test. */
	assert_int_equal(raise(SIGUSR1), 0);
	loop_remove(*state, watch);
	assert_false(is_blocked(SIGUSR1));
	assert_int_equal(seen.calls, 1);
}

static void test_signals_are_distinguished(void **state)
{
	struct seen seen[2] = {{.loop = *state}, {.loop = *state}};

	assert_int_equal(loop_add_signal(*state, SIGUSR1, see, &seen[0], NULL), 0);
	assert_int_equal(loop_add_signal(*state, SIGUSR2, see, &seen[1], NULL), 0);
	assert_int_equal(raise(SIGUSR2), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	while (seen[0].calls + seen[1].calls < 2)
		assert_true(loop_once(*state, -1) > 0);
	assert_int_equal(seen[0].sum, SIGUSR1);
	assert_int_equal(seen[1].sum, SIGUSR2);
}

static void test_blocked_signal_stays_blocked(void **state)
{
	struct loop *loop;
	sigset_t set, old;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &old);
	assert_int_equal(loop_new(&loop), 0);
	assert_true(sigismember(loop_original_mask(loop), SIGUSR2));
	assert_int_equal(loop_add_signal(loop, SIGUSR2, see, NULL, NULL), 0);
	loop_free(loop);
	assert_true(is_blocked(SIGUSR2));
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void ignore_signal(int signal_number)
{
	(void)signal_number;
}

/* A signal handler interrupts the wait: that is not an error, and nothing is called. */
static void test_interrupted(void **state)
{
	struct sigaction action = {.sa_handler = ignore_signal};
	struct sigaction old;

	assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
	ualarm(2000, 0);
	assert_int_equal(loop_once(*state, 5000), 0);
	sigaction(SIGALRM, &old, NULL);
}

/* More watches are ready than fit into a batch, and all are called. */
static void test_many_watches(void **state)
{
	enum { MANY = 100 };
	struct seen seen = {.loop = *state};
	struct loop_watch *watches[MANY];
	int ends[MANY][2];

	for (int i = 0; i < MANY; i++) {
		pipe_with_byte(ends[i]);
		assert_int_equal(
			loop_add_fd(*state, ends[i][0], EPOLLIN | EPOLLET, see, &seen, &watches[i]),
			0);
	}
	while (loop_once(*state, 0) > 0)
		;
	assert_int_equal(seen.calls, MANY);
	for (int i = 0; i < MANY; i++) {
		if (i % 2)
			loop_remove(*state, watches[i]);
		pipe_close(ends[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_to_do, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptor, setup, teardown),
		cmocka_unit_test_setup_teardown(test_invalid_descriptors_and_signals, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_remove_within_callback, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loop_within_callback, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_shot_timer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_periodic_timer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_before_run, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signals_are_distinguished, setup, teardown),
		cmocka_unit_test(test_blocked_signal_stays_blocked),
		cmocka_unit_test_setup_teardown(test_interrupted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_watches, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
