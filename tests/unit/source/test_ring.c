/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ring whose reader is busy: records are kept for it in order, up to a limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "source/record/ring_reader.h"

#define SIZE    (1u << 20)
#define PAYLOAD 5 /* words per record: not a multiple of the alignment of records */
#define TRIES   30000
#define STOP    (-ENODATA)

struct world {
	struct ring ring;
	struct ring_reader *reader;
	int news;
	uint32_t written, read;
	uint32_t stops_at; /* reading stops at this record, once */
};

static int setup_limited(void **state, uint64_t limit)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	assert_int_equal(ring_new(&world->ring, SIZE), 0);
	world->news = eventfd(0, EFD_CLOEXEC);
	world->stops_at = UINT32_MAX;
	assert_true(world->news >= 0);
	assert_int_equal(ring_reader_open(&world->reader, &world->ring, world->news, limit), 0);
	*state = world;
	return 0;
}

static int setup(void **state)
{
	return setup_limited(state, UINT64_MAX);
}

static int setup_little(void **state)
{
	return setup_limited(state, SIZE);
}

static int setup_nothing(void **state)
{
	return setup_limited(state, 0);
}

static int teardown(void **state)
{
	struct world *world = *state;

	ring_reader_close(world->reader);
	ring_close(&world->ring);
	close(world->news);
	free(world);
	return 0;
}

/* Writes one record with the next number, and notifies the reader like the kernel. */
static bool write_one(struct world *world)
{
	const uint64_t one = 1;
	uint32_t words[PAYLOAD];
	const struct ring_piece piece = {words, sizeof(words)};

	for (size_t i = 0; i < PAYLOAD; i++)
		words[i] = world->written;
	if (!ring_write(&world->ring, &piece, 1))
		return false;
	world->written++;
	assert_int_equal(write(world->news, &one, sizeof(one)), sizeof(one));
	return true;
}

static bool write_patiently(struct world *world)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < TRIES; i++) {
		if (write_one(world))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static int on_record(void *ctx, const void *data, size_t size)
{
	struct world *world = ctx;
	const uint32_t *words = data;

	assert_int_equal(size, PAYLOAD * sizeof(*words));
	for (size_t i = 0; i < PAYLOAD; i++)
		assert_int_equal(words[i], world->read);
	world->read++;
	return world->read == world->stops_at ? STOP : 0;
}

static void read_all(struct world *world)
{
	assert_int_equal(ring_reader_read(world->reader, on_record, world), 0);
	assert_int_equal(world->read, world->written);
}

/* The reader finds far more records than fit into the ring. Afterwards, the ring works as
 * before. */
static void test_busy_reader(void **state)
{
	struct world *world = *state;

	while (world->written < 8 * SIZE / (PAYLOAD * sizeof(uint32_t)))
		assert_true(write_patiently(world));
	read_all(world);
	for (int i = 0; i < 1000; i++) {
		assert_true(write_one(world));
		read_all(world);
	}
}

static uint32_t write_until_full(struct world *world)
{
	uint32_t before = world->written;
	const struct timespec pause = {.tv_nsec = 100000000};

	do {
		while (write_one(world))
			;
		nanosleep(&pause, NULL); /* the thread may make room */
	} while (write_one(world));
	return world->written - before;
}

/* Records beyond the limit are refused, and all others are delivered. */
static void test_limit(void **state)
{
	struct world *world = *state;
	uint64_t bytes = (uint64_t)write_until_full(world) * PAYLOAD * sizeof(uint32_t);

	assert_true(bytes > SIZE / 2 && bytes < 4 * SIZE);
	read_all(world);
	assert_true(write_until_full(world));
	read_all(world);
}

static void test_no_extra_memory(void **state)
{
	struct world *world = *state;

	assert_true((uint64_t)write_until_full(world) * PAYLOAD * sizeof(uint32_t) <= SIZE);
	read_all(world);
}

/* Records after one that stops the reading are delivered the next time. */
static void test_reading_can_stop(void **state)
{
	struct world *world = *state;

	for (uint32_t i = 0; i < 1000; i++)
		assert_true(write_patiently(world));
	for (world->stops_at = 1; world->stops_at < 1000; world->stops_at += 7) {
		assert_int_equal(ring_reader_read(world->reader, on_record, world), STOP);
		assert_int_equal(world->read, world->stops_at);
		assert_true(write_patiently(world));
	}
	world->stops_at = UINT32_MAX;
	read_all(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_busy_reader, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup_little, teardown),
		cmocka_unit_test_setup_teardown(test_no_extra_memory, setup_nothing, teardown),
		cmocka_unit_test_setup_teardown(test_reading_can_stop, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
