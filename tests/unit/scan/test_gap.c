/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory between the blocks of glibc's malloc, in the leak scan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/scan/scan_world.h"

#define ROOT 0x10000ULL
#define HEAP 0x5000000ULL
#define SIZE 0x100000ULL

static void furnish(struct world *world)
{
	world_init(world);
	world_area(world, ROOT, 0x4000);
	world_area(world, HEAP, SIZE);
}

/* The header of a glibc chunk, which has `size` bytes from address - 16 on. */
static void put_chunk(struct world *world, uint64_t address, uint64_t size)
{
	world_put(world, address - 8, size | 1);
}

static void furnish_chunks(struct world *world)
{
	furnish(world);
	world->input.heap_is_known = true;
	world_block(world, HEAP + 0x20, 40);
	put_chunk(world, HEAP + 0x20, 0x30);
	put_chunk(world, HEAP + 0x50, 0x30); /* free */
	put_chunk(world, HEAP + 0x80, 0x50); /* free */
	world_block(world, HEAP + 0xd0, 40);
	put_chunk(world, HEAP + 0xd0, 0x30);
	put_chunk(world, HEAP + 0x100, SIZE - 0xf0); /* top */
	world_put(world, HEAP + 0x90, HEAP + 0x20);  /* stale */
	world_put(world, HEAP + 0x200, HEAP + 0xd0); /* stale */
}

static void expect_two(struct world *world, enum leak_class first, enum leak_class second)
{
	assert_int_equal(world_scan(world), 0);
	assert_int_equal(world_class(world, HEAP + 0x20), first);
	assert_int_equal(world_class(world, HEAP + 0xd0), second);
}

/* Words in freed memory are not roots if the memory is certainly free. They are if anything is
 * unusual. */
static void test_free_chunks(void **state)
{
	struct world world;

	(void)state;
	furnish_chunks(&world);
	expect_two(&world, LEAK_DEFINITE, LEAK_DEFINITE);
	put_chunk(&world, HEAP + 0x50, 0x20);
	expect_two(&world, LEAK_REACHABLE, LEAK_DEFINITE);
	put_chunk(&world, HEAP + 0x50, 0x30);
	put_chunk(&world, HEAP + 0x80, 0x52 - 1); /* mapped separately: not a free chunk */
	world_put(&world, HEAP + 0x78, 0x52);
	expect_two(&world, LEAK_REACHABLE, LEAK_DEFINITE);
	put_chunk(&world, HEAP + 0x80, 0x50);
	put_chunk(&world, HEAP + 0x100, SIZE - 0x100);
	expect_two(&world, LEAK_DEFINITE, LEAK_REACHABLE);
	put_chunk(&world, HEAP + 0x100, SIZE - 0xf0);
	world.input.heap_is_known = false;
	expect_two(&world, LEAK_REACHABLE, LEAK_REACHABLE);
	world_free(&world);
}

/* The same for chunks before the first block of a heap, if a heap is known to start there. */
static void test_free_chunks_at_the_start_of_a_heap(void **state)
{
	struct world world;

	(void)state;
	for (uint64_t arena = 0; arena <= 0x40; arena += 0x40) { /* bytes of the arena */
		furnish(&world);
		world.input.heap_is_known = true;
		world.ranges[1].heap = true;
		put_chunk(&world, HEAP + arena + 0x10, 0x40); /* free */
		put_chunk(&world, HEAP + arena + 0x50, 0x80 - arena);
		world_put(&world, HEAP + arena + 0x28, HEAP + 0xd0); /* stale */
		world_block(&world, HEAP + 0xd0, 40);
		put_chunk(&world, HEAP + 0xd0, 0x30);
		put_chunk(&world, HEAP + 0x100, SIZE - 0xf0);
		assert_int_equal(world_scan(&world), 0);
		assert_int_equal(world_class(&world, HEAP + 0xd0), LEAK_DEFINITE);
		put_chunk(&world, HEAP + arena + 0x50, 0x90 - arena);
		assert_int_equal(world_scan(&world), 0);
		assert_int_equal(world_class(&world, HEAP + 0xd0), LEAK_REACHABLE);
		put_chunk(&world, HEAP + arena + 0x50, 0x80 - arena);
		world.ranges[1].heap = false;
		assert_int_equal(world_scan(&world), 0);
		assert_int_equal(world_class(&world, HEAP + 0xd0), LEAK_REACHABLE);
		world_free(&world);
	}
}

/* The heap ends with its mapping: the next mapping is a root. */
static void test_free_chunks_end_with_mapping(void **state)
{
	struct world world;

	(void)state;
	furnish_chunks(&world);
	world_area(&world, HEAP + SIZE, 0x1000);
	world_block(&world, HEAP + SIZE + 0x800, 16);
	world_put(&world, HEAP + SIZE + 0x10, HEAP + 0xd0);
	expect_two(&world, LEAK_DEFINITE, LEAK_REACHABLE);
	world_free(&world);
}

static void expect_free(struct world *world, uint64_t bytes)
{
	expect_two(world, LEAK_REACHABLE, LEAK_REACHABLE);
	assert_int_equal(world->result.bytes_between, SIZE - 2 * 40);
	assert_int_equal(world->result.bytes_free, bytes);
}

/* If older blocks are unknown, memory that is certainly free is reported, but is still a root. */
static void test_free_chunks_are_counted(void **state)
{
	const uint64_t top = SIZE - 0xf0;
	struct world world;

	(void)state;
	furnish_chunks(&world);
	world.input.heap_is_known = false;
	expect_free(&world, top);
	world_put(&world, HEAP + 0xc0, 0x50);
	expect_free(&world, top); /* the next chunk says that this one is in use */
	world_put(&world, HEAP + 0xc8, 0x30);
	expect_free(&world, top + 0x50);
	world_put(&world, HEAP + 0xc0, 0x40);
	expect_free(&world, top); /* the reverse */
	world_put(&world, HEAP + 0xc0, 0x50);
	put_chunk(&world, HEAP + 0x50, 0x20);
	expect_free(&world, top); /* the chain does not lead to the next block */
	put_chunk(&world, HEAP + 0x50, 0x30);
	put_chunk(&world, HEAP + 0x100, SIZE - 0x100);
	expect_free(&world, 0x50); /* nor to the end of the heap */
	world_free(&world);
}

/* From the start of the heap to the first known block, over many batches. */
static void test_free_chunks_before_the_first_block(void **state)
{
	struct world world;
	uint64_t bytes = 0;

	(void)state;
	furnish(&world);
	for (uint64_t at = 0; at < SIZE - 0x1000; at += 0x1010) {
		bool unused = at / 0x1010 % 3 == 1;

		world_put(&world, HEAP + at + 8, 0x1010 | (at / 0x1010 % 3 != 2));
		world_put(&world, HEAP + at, at / 0x1010 % 3 == 2 ? 0x1010 : 0);
		bytes += unused && at + 2 * 0x1010 < SIZE ? 0x1010 : 0;
		if (at + 2 * 0x1010 >= SIZE)
			world_block(&world, HEAP + at + 16, 0x1000);
	}
	assert_int_equal(world_scan(&world), 0);
	assert_int_equal(world.result.bytes_free, bytes);
	assert_true(bytes > SIZE / 4);
	world_free(&world);
}

/* On ARM, chunks are multiples of 8 bytes: memory after a block belongs to the next chunk. */
static void test_free_chunks_of_eights(void **state)
{
	struct world world;
	bool eights;

	(void)state;
	for (int i = 0; i < 2; i++) {
		eights = i;
		furnish(&world);
		world.input.word = world.input.step = 4;
		world.input.heap_is_known = true;
		world.input.chunk = eights ? 8 : 0;
		world_block(&world, HEAP + 8, 48);
		world_put(&world, HEAP + 4, 56 | 1);
		world_put(&world, HEAP + 60, 56 | 1); /* free; its first word points into a block */
		world_put(&world, HEAP + 64, HEAP + 140);
		world_block(&world, HEAP + 120, 48);
		world_put(&world, HEAP + 116, 56 | 1);
		world_put(&world, HEAP + 172, (SIZE - 168) | 1);
		world_put(&world, ROOT, HEAP + 8);
		assert_int_equal(world_scan(&world), 0);
		assert_int_equal(world_class(&world, HEAP + 8), LEAK_REACHABLE);
		assert_int_equal(world_class(&world, HEAP + 120),
				 eights ? LEAK_DEFINITE : LEAK_POSSIBLE);
		world_free(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_free_chunks),
		cmocka_unit_test(test_free_chunks_at_the_start_of_a_heap),
		cmocka_unit_test(test_free_chunks_end_with_mapping),
		cmocka_unit_test(test_free_chunks_are_counted),
		cmocka_unit_test(test_free_chunks_before_the_first_block),
		cmocka_unit_test(test_free_chunks_of_eights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
