/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The leak scan where there is no room to remember all pointers, so that blocks are read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/scan_world.h"

#define ROOT 0x10000ULL
#define STEP 0x40ULL /* from one block of a test to the next */

#define MANY   20000
#define LISTED 6 /* pointers from each block to its successor's */

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

static struct world begin(void)
{
	struct world world;

	world_init(&world);
	return world;
}

static void furnish(struct world *world)
{
	world->memory.ctx = world;
	world->input.memory = &world->memory;
	world->input.ranges = world->ranges;
	world->input.images = world->images;
	world->input.registers = world->registers;
	world_area(world, ROOT, 0x4000);
}

static void test_many(void **state)
{
	struct world world = begin();
	uint64_t seed = 7;

	(void)state;
	for (int heads = 1; heads >= 0; heads--) {
		uint32_t *order = malloc(MANY * sizeof(*order));

		world = begin();
		furnish(&world);
		world_area(&world, 0x7f0000000000ULL, MANY * STEP);
		for (uint32_t i = 0; i < MANY; i++) {
			uint32_t other = (uint32_t)(random_next(&seed) % (i + 1));

			order[i] = order[other];
			order[other] = i;
			world_block(&world, 0x7f0000000000ULL + i * STEP, 48);
		}
		for (uint32_t i = 0; i + LISTED < MANY; i++)
			for (uint32_t j = 0; j < LISTED; j++)
				world_put(&world, 0x7f0000000000ULL + order[i] * STEP + j * 8,
					  0x7f0000000000ULL + order[i + 1 + j] * STEP);
		if (heads)
			world_put(&world, ROOT, 0x7f0000000000ULL + order[0] * STEP);
		assert_int_equal(world_scan(&world), 0);
		assert_true(world.result.bytes_read_again > 0);
		assert_int_equal(world.result.classes[LEAK_REACHABLE].blocks, heads * MANY);
		assert_int_equal(world.result.classes[LEAK_DEFINITE].blocks, !heads);
		assert_int_equal(world.result.classes[LEAK_INDIRECT].blocks, (MANY - 1) * !heads);
		free(order);
		world_free(&world);
	}
}

/* Small blocks in a row, every other one lost: reading some again must not read their neighbours.
 */
static void test_many_interleaved(void **state)
{
	const uint64_t heap = 0x7f0000000000ULL, step = 32;
	struct world world = begin();
	uint64_t seed = 7;

	(void)state;
	furnish(&world);
	world_area(&world, heap, MANY * step);
	for (uint32_t i = 0; i < MANY; i++)
		world_block(&world, heap + i * step, 24);
	for (uint32_t i = 0; i < MANY; i++) {
		/* A chain downwards of all of a kind, which is late to be found; and any two more.
		 */
		uint32_t next = i >= 2 ? i - 2 : i;

		world_put(&world, heap + i * step, heap + next * step);
		for (uint32_t j = 1; j < 3; j++) {
			next = (uint32_t)(random_next(&seed) % (MANY / 2)) * 2 + i % 2;
			world_put(&world, heap + i * step + j * 8, heap + next * step);
		}
	}
	world_put(&world, ROOT, heap + (MANY - 2) * step);
	assert_int_equal(world_scan(&world), 0);
	assert_true(world.result.bytes_read_again > 0);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(world_class(&world, heap + i * step) == LEAK_REACHABLE, !(i % 2));
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_many_interleaved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
