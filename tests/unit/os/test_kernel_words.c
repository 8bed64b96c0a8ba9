/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pointers that the kernel keeps for a process: of epoll instances and of timers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "os/process/kernel_words.h"

#define WATCHED 300 /* more than one read of the file shows */

static bool holds(const struct kernel_words *words, uint64_t word)
{
	for (size_t i = 0; i < words->count; i++)
		if (words->items[i] == word)
			return true;
	return false;
}

static struct kernel_words words_now(void)
{
	struct epoll_descriptors epolls = {0};
	struct kernel_words words = {0};

	assert_int_equal(epoll_descriptors_find(getpid(), &epolls), 0);
	assert_int_equal(kernel_words_read(getpid(), &epolls, &words), 0);
	vec_free(&epolls);
	return words;
}

static void test_process_without_epoll_and_timers_has_no_words(void **state)
{
	struct kernel_words words = words_now();

	(void)state;
	assert_int_equal(words.count, 0);
	vec_free(&words);
}

static void test_data_of_every_watched_descriptor_is_found(void **state)
{
	int epoll = epoll_create1(0), watched[WATCHED];
	struct kernel_words words;

	(void)state;
	for (uint64_t i = 0; i < WATCHED; i++) {
		struct epoll_event event = {.events = EPOLLIN,
					    .data.u64 = 0x123456789abc0000ULL + i};

		watched[i] = eventfd(0, 0);
		assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, watched[i], &event), 0);
	}
	words = words_now();
	assert_int_equal(words.count, WATCHED);
	for (uint64_t i = 0; i < WATCHED; i++)
		assert_true(holds(&words, 0x123456789abc0000ULL + i));
	vec_free(&words);
	for (size_t i = 0; i < WATCHED; i++)
		close(watched[i]);
	close(epoll);
}

static void test_values_of_timers_are_found(void **state)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct kernel_words words;
	timer_t timer;

	(void)state;
	event.sigev_value.sival_ptr = (void *)(uintptr_t)0x12345670;
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	words = words_now();
	if (!access("/proc/self/timers", R_OK)) /* CONFIG_CHECKPOINT_RESTORE in older kernels */
		assert_true(holds(&words, 0x12345670));
	vec_free(&words);
	timer_delete(timer);
}

static void test_closed_descriptor_is_left_out(void **state)
{
	int epoll = epoll_create1(0);
	struct epoll_descriptors epolls = {0};
	struct kernel_words words = {0};

	(void)state;
	assert_int_equal(epoll_descriptors_find(getpid(), &epolls), 0);
	assert_int_equal(epolls.count, 1);
	assert_int_equal(epolls.items[0], epoll);
	close(epoll);
	assert_int_equal(kernel_words_read(getpid(), &epolls, &words), 0);
	assert_int_equal(words.count, 0);
	vec_free(&epolls);
}

static void test_missing_process_is_an_error(void **state)
{
	struct epoll_descriptors epolls = {0};

	(void)state;
	assert_int_equal(epoll_descriptors_find(INT32_MAX, &epolls), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_without_epoll_and_timers_has_no_words),
		cmocka_unit_test(test_data_of_every_watched_descriptor_is_found),
		cmocka_unit_test(test_values_of_timers_are_found),
		cmocka_unit_test(test_closed_descriptor_is_left_out),
		cmocka_unit_test(test_missing_process_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
