/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory in which allocators keep their own data is not a root of the leak scan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/scan/heap_world.h"

#define BINS     127
#define ARENA    (ROOT + 0x100)
#define METADATA 0x6000000ULL  /* a multiple of 2 MiB */
#define CHUNK    (HEAP + 0x30) /* the last word of block 0, if the block has 40 bytes */
#define TWO_MIB  0x200000ULL

/* The layout of an arena in glibc 2.36: 12 words, top, last remainder, bins, bitmap, next. */
struct layout {
	uint64_t top;
	uint64_t bins;
	uint64_t next;
};

static struct layout lay_out(const struct world *world, uint64_t arena)
{
	uint64_t word = world->input.word, fast = word == 8 ? 10 : 11;
	uint64_t head = word == 8 ? 16 : 12;
	struct layout layout = {.top = arena + head + fast * word};

	layout.bins = layout.top + 2 * word;
	layout.next = layout.bins + 2 * BINS * word + 16;
	return layout;
}

static uint64_t bin(const struct world *world, const struct layout *layout, size_t i)
{
	return layout->bins + 2 * i * world->input.word;
}

static void put_arena(struct world *world, uint64_t arena, uint64_t next)
{
	struct layout layout = lay_out(world, arena);
	uint64_t word = world->input.word;

	for (size_t i = 0; i < BINS; i++) {
		world_put(world, bin(world, &layout, i), bin(world, &layout, i) - 2 * word);
		world_put(world, bin(world, &layout, i) + word, bin(world, &layout, i) - 2 * word);
	}
	world_put(world, layout.next, next);
}

/* Block 0 has 40 bytes, and a chunk after it. The data segment of a library is the root. */
static struct layout furnish_arena(struct world *world, unsigned int word)
{
	world_init(world);
	world->input.word = world->input.step = word;
	world_area(world, ROOT, 0x4000);
	world_area(world, HEAP, SIZE);
	world_block(world, HEAP + 0x10, word == 8 ? 40 : 36);
	world->images[0] = (struct scan_image){.start = ROOT, .end = ROOT + 0x4000};
	world->input.image_count = 1;
	put_arena(world, ARENA, ARENA);
	return lay_out(world, ARENA);
}

static void expect_class(struct world *world, enum leak_class class)
{
	assert_int_equal(world_scan(world), 0);
	assert_int_equal(world_class(world, HEAP + 0x10), class);
}

/* Links the chunk into bin 5, in both directions. */
static void link_chunk(struct world *world, const struct layout *layout)
{
	uint64_t word = world->input.word, head = bin(world, layout, 5) - 2 * word;

	world_put(world, bin(world, layout, 5), CHUNK);
	world_put(world, bin(world, layout, 5) + word, CHUNK);
	world_put(world, CHUNK + 2 * word, head);
	world_put(world, CHUNK + 3 * word, head);
}

static void test_arena_is_no_root(void **state)
{
	const unsigned int words[] = {8, 4};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct world world;
		struct layout layout = furnish_arena(&world, words[i]);

		world_put(&world, layout.top, CHUNK);
		world_put(&world, layout.top + words[i], CHUNK);
		world_put(&world, layout.top - words[i], CHUNK);
		link_chunk(&world, &layout);
		expect_class(&world, LEAK_DEFINITE);
		world_put(&world, layout.next + 2 * words[i], CHUNK);
		expect_class(&world, LEAK_POSSIBLE);
		world_free(&world);
	}
}

/* malloc may be interrupted before a chunk is linked in both directions. */
static void test_arena_while_a_chunk_is_linked(void **state)
{
	struct world world;
	struct layout layout = furnish_arena(&world, 8);

	(void)state;
	link_chunk(&world, &layout);
	world_put(&world, layout.top, CHUNK);
	world_put(&world, bin(&world, &layout, 5) + 8, bin(&world, &layout, 5) - 16);
	expect_class(&world, LEAK_DEFINITE);
	world_put(&world, CHUNK + 24, 0);
	expect_class(&world, LEAK_POSSIBLE);
	world_free(&world);
}

/* A word in the middle is not a bin's, or there is one bin too few or too many. */
static void test_imperfect_arena_is_a_root(void **state)
{
	struct world world;
	struct layout layout = furnish_arena(&world, 8);

	(void)state;
	world_put(&world, layout.top, CHUNK);
	world_put(&world, bin(&world, &layout, 60), 1);
	expect_class(&world, LEAK_POSSIBLE);
	world_put(&world, bin(&world, &layout, 60), bin(&world, &layout, 60) - 16);
	expect_class(&world, LEAK_DEFINITE);
	world_free(&world);

	layout = furnish_arena(&world, 8);
	world_put(&world, layout.top, CHUNK);
	world_put(&world, bin(&world, &layout, BINS - 1), 0);
	world_put(&world, bin(&world, &layout, BINS - 1) + 8, 0);
	expect_class(&world, LEAK_POSSIBLE);
	world_free(&world);

	layout = furnish_arena(&world, 8);
	world_put(&world, layout.top, CHUNK);
	world_put(&world, bin(&world, &layout, BINS), bin(&world, &layout, BINS) - 16);
	world_put(&world, bin(&world, &layout, BINS) + 8, bin(&world, &layout, BINS) - 16);
	expect_class(&world, LEAK_POSSIBLE);
	world_free(&world);
}

/* A thread's arena is at the start of its heap, and is found through the ring of arenas. */
static void test_arenas_of_threads(void **state)
{
	const uint64_t other = METADATA + 0x30;
	struct world world;
	struct layout layout;

	(void)state;
	furnish_arena(&world, 8);
	world_area(&world, METADATA, SIZE);
	put_arena(&world, other, ARENA);
	layout = lay_out(&world, other);
	world_put(&world, layout.top, CHUNK);
	expect_class(&world, LEAK_POSSIBLE); /* nothing points to it */
	world_put(&world, lay_out(&world, ARENA).next, other);
	expect_class(&world, LEAK_DEFINITE);
	world_put(&world, layout.next, 0x123456); /* a broken ring */
	expect_class(&world, LEAK_DEFINITE);
	world_free(&world);
}

/* A link between free chunks of the heap, where memory between blocks may contain unknown
 * blocks. */
static void test_links_of_free_chunks(void **state)
{
	const uint64_t other = HEAP + 0x200;
	struct world world;

	(void)state;
	furnish(&world, 0);
	world_block(&world, HEAP + 0x10, 40);
	for (unsigned int link = 2; link < 6; link++) {
		unsigned int partner = link ^ 1;

		world_put(&world, other + link * 8, CHUNK);
		expect_class(&world, LEAK_POSSIBLE);
		world_put(&world, CHUNK + partner * 8, other);
		expect_class(&world, LEAK_DEFINITE);
		world_put(&world, CHUNK + partner * 8, other + 8);
		expect_class(&world, LEAK_POSSIBLE);
		world_put(&world, CHUNK + partner * 8, 0);
		world_put(&world, other + link * 8, 0);
	}
	world_free(&world);
}

/* A block is not a free chunk, whatever its contents look like. */
static void test_links_to_a_block_are_references(void **state)
{
	const uint64_t other = HEAP + 0x200;
	struct world world;

	(void)state;
	furnish(&world, 0);
	world_block(&world, HEAP + 0x10, 40);
	world_block(&world, CHUNK + 0x10, 40);
	world_put(&world, other + 16, CHUNK);
	world_put(&world, CHUNK + 24, other);
	expect_class(&world, LEAK_POSSIBLE);
	world_free(&world);
}

#define UNUSED (METADATA + 0x5000)

/* The metadata block of jemalloc: its size, the next block, flags, and the unused part. */
static void put_metadata(struct world *world)
{
	world_put(world, METADATA, TWO_MIB);
	world_put(world, METADATA + 24, UNUSED);
	world_put(world, METADATA + 32, METADATA + TWO_MIB - UNUSED);
}

static void furnish_metadata(struct world *world)
{
	furnish(world, 0);
	world_area(world, METADATA, TWO_MIB + 0x8000);
	world_block(world, HEAP + 0x10, 40);
}

static void test_jemalloc_metadata_is_no_root(void **state)
{
	struct world world;

	(void)state;
	furnish_metadata(&world);
	world_put(&world, METADATA + 0x1000, HEAP + 0x10);
	expect_class(&world, LEAK_REACHABLE);
	put_metadata(&world);
	expect_class(&world, LEAK_DEFINITE);
	world_put(&world, METADATA + TWO_MIB + 0x10, HEAP + 0x10); /* beyond the block */
	expect_class(&world, LEAK_REACHABLE);
	world_put(&world, METADATA + TWO_MIB + 0x10, 0);
	world_put(&world, METADATA + 32, METADATA + TWO_MIB - UNUSED + 1);
	expect_class(&world, LEAK_REACHABLE);
	world_free(&world);
}

/* A descriptor points to the cache. The first and last words identify it. */
static void test_jemalloc_thread_cache_is_no_root(void **state)
{
	const uint64_t description = METADATA + 0x1000, cache = METADATA + TWO_MIB + 0x1000;
	struct world world;

	(void)state;
	furnish_metadata(&world);
	put_metadata(&world);
	world_put(&world, cache, 0x7a7a7a7a7a7a7a7a);
	world_put(&world, cache + 0x800, HEAP + 0x10);
	world_put(&world, cache + 0x3008, 0xa7a7a7a7a7a7a7a7);
	world_put(&world, description + 8, cache);
	expect_class(&world, LEAK_REACHABLE); /* too small */
	world_put(&world, description + 16, 0x4000);
	expect_class(&world, LEAK_DEFINITE);
	world_put(&world, description, 0x1000); /* a slab */
	expect_class(&world, LEAK_REACHABLE);
	world_put(&world, description, 0);
	world_put(&world, cache + 0x3008, 0);
	expect_class(&world, LEAK_REACHABLE);
	world_put(&world, cache + 0x3008, 0xa7a7a7a7a7a7a7a7);
	world_put(&world, cache + 0x3010, HEAP + 0x10); /* beyond the cache */
	expect_class(&world, LEAK_REACHABLE);
	world_free(&world);
}

#define STACK_END (METADATA + 0x8000)
#define TCB       (STACK_END - 0x900)

static void put_tcb(struct world *world, uint64_t address)
{
	world_put(world, address, address);
	world_put(world, address + 16, address);
}

/* As glibc leaves the stack: stale words of the exited thread are below its TCB. */
static void test_stack_of_an_exited_thread_is_no_root(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 0);
	world_area(&world, METADATA, STACK_END - METADATA);
	world_block(&world, HEAP + 0x10, 40);
	world_put(&world, METADATA + 0x100, HEAP + 0x10);
	put_tcb(&world, TCB);
	put_tcb(&world, ROOT + 0x1000);
	world.input.thread_pointer = ROOT + 0x1000;
	expect_class(&world, LEAK_REACHABLE); /* a thread may use it */
	world.ranges[2].idle = true;
	expect_class(&world, LEAK_DEFINITE);
	world_put(&world, ROOT + 0x1010, 0); /* the running threads have other TCBs */
	expect_class(&world, LEAK_REACHABLE);
	put_tcb(&world, ROOT + 0x1000);
	world_put(&world, TCB + 16, 0);
	expect_class(&world, LEAK_REACHABLE);
	put_tcb(&world, TCB);
	world_put(&world, TCB + 8, HEAP + 0x10); /* in the TCB */
	expect_class(&world, LEAK_REACHABLE);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arena_is_no_root),
		cmocka_unit_test(test_arena_while_a_chunk_is_linked),
		cmocka_unit_test(test_imperfect_arena_is_a_root),
		cmocka_unit_test(test_arenas_of_threads),
		cmocka_unit_test(test_links_of_free_chunks),
		cmocka_unit_test(test_links_to_a_block_are_references),
		cmocka_unit_test(test_jemalloc_metadata_is_no_root),
		cmocka_unit_test(test_jemalloc_thread_cache_is_no_root),
		cmocka_unit_test(test_stack_of_an_exited_thread_is_no_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
