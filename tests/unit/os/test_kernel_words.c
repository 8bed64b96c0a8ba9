/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pointers that the kernel keeps for a process: of epoll instances, io_urings and timers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/socket.h>
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
	struct data_descriptors descriptors = {0};
	struct kernel_words words = {0};

	assert_int_equal(data_descriptors_find(getpid(), &descriptors), 0);
	assert_int_equal(kernel_words_read(getpid(), &descriptors, &words), 0);
	vec_free(&descriptors);
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

/* Registers a buffer and submits twice; the kernel takes the first submission only. */
static void fill_ring(int ring, const struct io_uring_params *params, const struct iovec *buffer)
{
	size_t ring_bytes = params->sq_off.array + params->sq_entries * sizeof(uint32_t);
	size_t bytes = params->sq_entries * sizeof(struct io_uring_sqe);
	char *queue = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
			   IORING_OFF_SQ_RING);
	struct io_uring_sqe *entries =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);

	assert_true(queue != MAP_FAILED && entries != MAP_FAILED);
	for (uint32_t i = 0; i < 2; i++) {
		entries[i] = (struct io_uring_sqe){
			.opcode = IORING_OP_NOP, .addr = 0x56780 + i, .user_data = 0x12340 + i};
		((uint32_t *)(void *)(queue + params->sq_off.array))[i] = i;
	}
	*(volatile uint32_t *)(void *)(queue + params->sq_off.tail) = 2;
	assert_int_equal(syscall(__NR_io_uring_register, ring, IORING_REGISTER_BUFFERS, buffer, 1),
			 0);
	assert_int_equal(syscall(__NR_io_uring_enter, ring, 1, 0, 0, NULL, 0), 1);
	munmap(queue, ring_bytes);
	munmap(entries, bytes);
}

/* The kernel may refuse an io_uring (sysctl io_uring_disabled), and older ones show less. */
static void test_words_of_an_io_uring_are_found(void **state)
{
	static char bytes[4096];
	const struct iovec buffer = {bytes, sizeof(bytes)};
	struct io_uring_params params = {0};
	int ring = (int)syscall(__NR_io_uring_setup, 8, &params);
	struct kernel_words words;

	(void)state;
	if (ring < 0)
		return;
	fill_ring(ring, &params, &buffer);
	words = words_now();
	assert_true(holds(&words, (uintptr_t)bytes));
	if (words.count > 1) {
		assert_true(holds(&words, 0x12340)); /* completed */
		assert_true(holds(&words, 0x12341)); /* submitted */
		assert_true(holds(&words, 0x56781));
	}
	vec_free(&words);
	close(ring);
}

static void test_closed_descriptor_is_left_out(void **state)
{
	int epoll = epoll_create1(0);
	struct data_descriptors descriptors = {0};
	struct kernel_words words = {0};

	(void)state;
	assert_int_equal(data_descriptors_find(getpid(), &descriptors), 0);
	assert_int_equal(descriptors.count, 1);
	assert_int_equal(descriptors.items[0], epoll);
	close(epoll);
	assert_int_equal(kernel_words_read(getpid(), &descriptors, &words), 0);
	assert_int_equal(words.count, 0);
	vec_free(&descriptors);
}

static void test_missing_process_is_an_error(void **state)
{
	struct data_descriptors descriptors = {0};

	(void)state;
	assert_int_equal(data_descriptors_find(INT32_MAX, &descriptors), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_without_epoll_and_timers_has_no_words),
		cmocka_unit_test(test_data_of_every_watched_descriptor_is_found),
		cmocka_unit_test(test_values_of_timers_are_found),
		cmocka_unit_test(test_words_of_an_io_uring_are_found),
		cmocka_unit_test(test_closed_descriptor_is_left_out),
		cmocka_unit_test(test_missing_process_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
