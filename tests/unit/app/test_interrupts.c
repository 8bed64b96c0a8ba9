/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repeated SIGINT and SIGTERM after the first one was handled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/trace/interrupts.h"

/* A first signal was handled. Further ones count as its echoes until then. */
static void await_echoes(struct interrupts *interrupts, uint64_t until_ns)
{
	struct interrupt interrupt;

	assert_int_equal(interrupts_open(interrupts), 0);
	assert_int_equal(kill(getpid(), SIGINT), 0);
	assert_int_equal(interrupts_read(interrupts, &interrupt), 0);
	assert_int_equal(interrupt.signal, SIGINT);
	assert_false(interrupt.from_terminal);
	assert_true(interrupts->echo_until_ns > 0);
	interrupts->echo_until_ns = until_ns;
}

/* A second signal arrives in time, but is only read after the time has passed. */
static void test_echo_of_an_interrupt_is_ignored(void **state)
{
	struct interrupts interrupts;

	(void)state;
	await_echoes(&interrupts, UINT64_MAX);
	assert_true(interrupts_postpone(&interrupts));
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	interrupts.echo_until_ns = 0;
	interrupts_release(&interrupts);
	assert_int_equal(interrupts.fd, -1);
}

static int end_of(void (*run)(struct interrupts *interrupts))
{
	struct interrupts interrupts;
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (!pid) {
		await_echoes(&interrupts, 0);
		run(&interrupts);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void late(struct interrupts *interrupts)
{
	if (interrupts_postpone(interrupts))
		_exit(1);
	kill(getpid(), SIGTERM);
	interrupts_release(interrupts);
}

static void after_release(struct interrupts *interrupts)
{
	interrupts->echo_until_ns = UINT64_MAX;
	interrupts_postpone(interrupts);
	interrupts->echo_until_ns = 0;
	interrupts_release(interrupts);
	raise(SIGTERM);
}

/* Any other signal kills the program. */
static void test_later_signal_kills(void **state)
{
	int status = end_of(late);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	status = end_of(after_release);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo_of_an_interrupt_is_ignored),
		cmocka_unit_test(test_later_signal_kills),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
