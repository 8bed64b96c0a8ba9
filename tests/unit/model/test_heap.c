/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of live blocks: its contents, and its memory.
 *
 * Under sanitizers the table grows to a fifth of its size. EXHAUSTIVE=1 fills it (see sweep.h).
 */
#include <malloc.h>

#include "model/block/heap.h"

#include "tests/unit/model_fixture.h"
#include "tests/unit/sweep.h"

#define BLOCK_BUDGET 48

static struct block block_at(uint64_t address)
{
	return (struct block){
		.address = address, .size = address * 3, .site = (uint32_t)address, .time = 1};
}

static void put(struct heap *heap, uint64_t address)
{
	struct block block = block_at(address), old;

	assert_int_equal(heap_put(heap, &block, &old), 0);
}

static void test_empty(void **state)
{
	struct heap heap = {0};
	struct block block;

	(void)state;
	assert_false(heap_take(&heap, 16, &block));
	assert_null(heap_find(&heap, 16));
	heap_visit(&heap, NULL, NULL);
	heap_free(&heap);
}

static void test_put_take(void **state)
{
	struct heap heap = {0};
	struct block block;

	(void)state;
	put(&heap, 16);
	put(&heap, 32);
	assert_int_equal(heap_find(&heap, 16)->size, 48);
	assert_true(heap_take(&heap, 16, &block));
	assert_int_equal(block.address, 16);
	assert_int_equal(block.size, 48);
	assert_false(heap_take(&heap, 16, &block));
	assert_null(heap_find(&heap, 16));
	assert_non_null(heap_find(&heap, 32));
	assert_false(heap_take(&heap, 0, &block));
	assert_int_equal(heap.count, 1);
	heap_free(&heap);
}

static void test_put_replaces(void **state)
{
	struct heap heap = {0};
	struct block block = block_at(16), old;

	(void)state;
	put(&heap, 16);
	block.size = 5;
	assert_int_equal(heap_put(&heap, &block, &old), 1);
	assert_int_equal(old.size, 48);
	assert_int_equal(heap_find(&heap, 16)->size, 5);
	assert_int_equal(heap.count, 1);
	heap_free(&heap);
}

static void count_visit(void *ctx, const struct block *block)
{
	uint8_t *seen = ctx;

	assert_int_equal(block->size, block->address * 3);
	seen[block->address / 16]++;
}

/* Compared with an array of flags. The table grows and shrinks over several splits. */
static void test_random(void **state)
{
	enum { ADDRESSES = 30000, STEPS = 300000 };
	uint8_t *live = calloc(ADDRESSES, 1), *seen = calloc(ADDRESSES, 1);
	struct heap heap = {0};
	size_t count = 0;

	(void)state;
	srandom(1);
	for (int step = 0; step < STEPS; step++) {
		bool growing = step / 60000 % 2 == 0;
		uint64_t i = 1 + (uint64_t)random() % (ADDRESSES - 1);
		struct block block = block_at(i * 16), old;

		if (growing ? random() % 4 : random() % 4 == 0) {
			assert_int_equal(heap_put(&heap, &block, &old), live[i]);
			count += !live[i];
			live[i] = 1;
		} else {
			assert_int_equal(heap_take(&heap, i * 16, &old), live[i]);
			count -= live[i];
			live[i] = 0;
		}
		assert_int_equal(heap.count, count);
	}
	heap_visit(&heap, count_visit, seen);
	assert_memory_equal(live, seen, ADDRESSES);
	for (uint64_t i = 1; i < ADDRESSES; i++)
		assert_int_equal(heap_find(&heap, i * 16) != NULL, live[i]);
	heap_free(&heap);
	free(live);
	free(seen);
}

/* Bytes in use according to malloc; 0 if a sanitizer's malloc does not report them. */
static size_t memory_used(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* The memory per block is limited at every size up to a million blocks, and down to a tenth of
 * them. */
static void test_budget(void **state)
{
	const uint64_t blocks = sweep_is_exhaustive() ? 1000000 : 200000;
	struct model_fixture fixture = fixture_default();
	size_t before = memory_used();

	(void)state;
	for (uint64_t i = 1; i <= blocks; i++) {
		send_malloc(&fixture, i * 16, 16);
		if (i % 10000 == 0)
			assert_true(model_memory(fixture.model) <= i * BLOCK_BUDGET);
	}
	assert_true(model_memory(fixture.model) >= blocks * sizeof(struct block));
	assert_true(memory_used() - before <= blocks * BLOCK_BUDGET);
	for (uint64_t i = blocks; i > blocks / 10; i--) {
		send_free(&fixture, i * 16);
		if (i % 10000 == 0)
			assert_true(model_memory(fixture.model) <= i * BLOCK_BUDGET);
	}
	assert_int_equal(look(&fixture)->live.blocks, blocks / 10);
	fixture_close(&fixture);
}

/* A program that only replaces blocks does not make the table grow. */
static void test_slots_are_reused(void **state)
{
	struct model_fixture fixture = fixture_default();
	const uint64_t all = sweep_is_exhaustive() ? 500000 : 100000;
	uint64_t next = 1, oldest = 1;
	size_t settled;

	(void)state;
	while (next <= 10000)
		send_malloc(&fixture, 16 * next++, 16);
	settled = model_memory(fixture.model);
	while (next <= all) {
		send_free(&fixture, 16 * oldest++);
		send_malloc(&fixture, 16 * next++, 16);
	}
	assert_true(model_memory(fixture.model) <= settled + settled / 4);
	assert_int_equal(look(&fixture)->live.blocks, 10000);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),        cmocka_unit_test(test_put_take),
		cmocka_unit_test(test_put_replaces), cmocka_unit_test(test_random),
		cmocka_unit_test(test_budget),       cmocka_unit_test(test_slots_are_reused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
