/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the leak scan: sorted blocks, the filter, sets, edges, confirmation by several
 * passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <malloc.h>

#include "scan/block/bitset.h"
#include "scan/block/filter.h"
#include "scan/confirm.h"
#include "scan/mark/edges.h"
#include "scan/mark/settled.h"
#include "tests/unit/scan/scan_world.h"

#define MILLION 1000000

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 20;
}

/* Finds the block that contains the word by searching all of them. */
static uint64_t naive_find(const struct sized_block *items, size_t count, uint64_t word)
{
	for (size_t i = 0; i < count; i++)
		if (word == items[i].address || word - items[i].address < items[i].size)
			return items[i].address;
	return 0;
}

static void check_find(const struct blocks *blocks, const struct sized_block *items, size_t count,
		       uint64_t word)
{
	uint32_t position = 12;
	struct hit hit;
	uint64_t expected = naive_find(items, count, word);
	size_t found = blocks_find(blocks, &word, &position, 1, &hit);

	assert_int_equal(found, expected != 0);
	if (!found)
		return;
	assert_int_equal(blocks_address(blocks, hit.slot), expected);
	assert_int_equal(hit.offset, word - expected);
	assert_int_equal(hit.tag, 12);
}

/* Clusters at various distances, and blocks of all sizes, including empty ones. */
static void test_find(void **state)
{
	static const uint64_t bases[] = {0x1000, 0x555500000000, 0x7f0000000000, 0x7fffffff0000};

	(void)state;
	for (uint64_t seed = 1; seed < 40; seed++) {
		struct sized_block items[300];
		struct blocks blocks = {0};
		uint64_t at = 0, random = seed;
		size_t count = 1 + random_next(&random) % 300;

		for (size_t i = 0; i < count; i++) {
			if (i % 80 == 0)
				at = bases[i / 80];
			items[i].address = at;
			items[i].size = random_next(&random) %
					(1u << random_next(&random) % (seed % 3 ? 20 : 12));
			if (seed % 3 == 0 && i % 150 == 17) /* a few large ones */
				items[i].size += 100000;
			at += items[i].size + 1 + random_next(&random) % (1u << seed % 25);
		}
		for (size_t i = 0; i < count; i++)
			blocks_add(&blocks, items[i * 7 % count].address,
				   items[i * 7 % count].size);
		for (size_t i = 0; i < count && count % 7 == 0; i++)
			blocks_add(&blocks, items[i].address, items[i].size);
		assert_int_equal(blocks_seal(&blocks), 0);
		assert_int_equal(blocks.count, count);
		for (size_t i = 0; i < count; i++)
			for (int away = -2; away <= 2; away++) {
				uint64_t end = items[i].address + items[i].size;

				check_find(&blocks, items, count,
					   items[i].address + (uint64_t)away);
				check_find(&blocks, items, count, end + (uint64_t)away);
				check_find(&blocks, items, count, (end + items[i].address) / 2);
			}
		blocks_free(&blocks);
	}
}

static void test_large_blocks(void **state)
{
	static const struct sized_block items[] = {
		{0x10000, 1ULL << 40}, {0x20000000000, 0xffffffff}, {0x30000000000, 0x100000000}};
	struct blocks blocks = {0};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		blocks_add(&blocks, items[i].address, items[i].size);
	assert_int_equal(blocks_seal(&blocks), 0);
	for (size_t i = 0; i < 3; i++) {
		check_find(&blocks, items, 3, items[i].address + items[i].size - 1);
		check_find(&blocks, items, 3, items[i].address + items[i].size);
		check_find(&blocks, items, 3, items[i].address + items[i].size / 2);
		assert_int_equal(blocks_size(&blocks, blocks_at(&blocks, items[i].address)),
				 items[i].size);
	}
	blocks_free(&blocks);
}

/* Invalid input: blocks that overlap, share an address or extend past the end of the address
 * space. */
static void test_overlaps(void **state)
{
	struct blocks blocks = {0};

	(void)state;
	blocks_add(&blocks, 100, 1000);
	blocks_add(&blocks, 100, 2000);
	blocks_add(&blocks, 500, UINT64_MAX);
	blocks_add(&blocks, 600, 1);
	blocks_add(&blocks, UINT64_MAX - 8, 100);
	blocks_add(&blocks, 0, 0);
	assert_int_equal(blocks_seal(&blocks), 0);
	assert_int_equal(blocks.count, 5);
	assert_int_equal(blocks_size(&blocks, blocks_at(&blocks, 100)), 400);
	assert_int_equal(blocks_size(&blocks, blocks_at(&blocks, 500)), 100);
	assert_int_equal(blocks_size(&blocks, blocks_at(&blocks, UINT64_MAX - 8)), 8);
	assert_int_equal(blocks_at(&blocks, 601), SLOT_NONE);
	blocks_free(&blocks);
}

static size_t memory_used(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* 16 bytes per block at any time, including all buffers. */
static void check_budget(bool read_ahead)
{
	struct world world;
	size_t before;

	world_init(&world);
	world.input.read_ahead = read_ahead;
	world_area(&world, 0x10000, 0x1000);
	before = memory_used();
	assert_int_equal(blocks_reserve(&world.blocks, MILLION), 0);
	for (uint64_t i = 0; i < MILLION; i++)
		blocks_add(&world.blocks, 0x5000000 + i * 7919 % MILLION * 64, 48);
	assert_true(memory_used() - before <= 16 * MILLION + (4 << 20));
	assert_int_equal(world_scan(&world), 0);
	assert_int_equal(world.result.classes[LEAK_DEFINITE].blocks, MILLION);
	assert_true(world.result.memory <= 16 * MILLION);
	world_free(&world);
}

static void test_budget(void **state)
{
	(void)state;
	check_budget(false);
	check_budget(true);
}

static void check_filter_at(size_t at, unsigned int word, enum filter_speed speed, uint64_t low,
			    uint64_t high)
{
	static _Alignas(64) unsigned char bytes[8 * 1000 + 64];
	static uint64_t words[2000];
	static uint32_t positions[2000];
	unsigned char *data = bytes + at;
	struct filter filter;
	uint64_t seed = word;
	size_t count = 8000 / word - 5, kept, expected = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t value = low - 3 + random_next(&seed) % 8;

		if (random_next(&seed) % 2)
			value = random_next(&seed) % 3 ? high - 4 + random_next(&seed) % 8 : 0;
		if (word == 8 && high < 1ULL << 48)
			value |= random_next(&seed) % 4 << 48;
		memcpy(data + i * word, &value, word);
	}
	filter_init(&filter, word, low, high, speed);
	kept = filter_run(&filter, data, count, words, positions);
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 0, address;

		memcpy(&value, data + i * word, word);
		address = high < 1ULL << 48 ? value << 16 >> 16 : value;
		if (address < low || address >= high)
			continue;
		assert_true(expected < kept);
		assert_int_equal(words[expected], value);
		assert_int_equal(positions[expected++], i * word);
	}
	assert_int_equal(kept, expected);
	assert_int_equal(filter_run(&filter, data, 0, words, positions), 0);
	assert_true(filter_run(&filter, data, 3, words, positions) <= 3);
}

/* At the start of a cache line, after it, and at an unusual address. */
static void check_filter(unsigned int word, enum filter_speed speed, uint64_t low, uint64_t high)
{
	static const size_t places[] = {0, 3, 16, 56};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		check_filter_at(places[i], word, speed, low, high);
}

static void test_filter(void **state)
{
	(void)state;
	for (int speed = FILTER_FASTEST; speed <= FILTER_PORTABLE; speed++) {
		check_filter(8, speed, 0x555500001000, 0x7fff00001234);
		check_filter(8, speed, 0x7ffffffffffffff0, 0x8000000000001000);
		check_filter(8, speed, 0xffffffff00000000, 0xfffffffffffffff0);
		check_filter(4, speed, 0x8049000, 0xf7001234);
		check_filter(4, speed, 0x7ffff000, 0x80001000);
	}
}

static void test_bitset(void **state)
{
	static const uint32_t members[] = {0, 1, 63, 64, 4095, 4096, 262143, 262144, 999999};
	struct bitset set;
	uint32_t at = 0;

	(void)state;
	assert_int_equal(bitset_init(&set, MILLION), 0);
	assert_int_equal(bitset_next(&set, 0), BITSET_NONE);
	for (size_t i = 0; i < 9; i++)
		bitset_add(&set, members[i]);
	for (size_t i = 0; i < 9; i++, at++) {
		at = bitset_next(&set, at);
		assert_int_equal(at, members[i]);
	}
	assert_int_equal(bitset_next(&set, at), BITSET_NONE);
	for (size_t i = 9; i-- > 0;) {
		assert_int_equal(bitset_next(&set, members[i]), members[i]);
		bitset_remove(&set, members[i]);
		assert_int_equal(bitset_next(&set, members[i]), BITSET_NONE);
	}
	bitset_free(&set);
	for (uint32_t size = 0; size < 200; size++) {
		assert_int_equal(bitset_init(&set, size), 0);
		assert_int_equal(bitset_next(&set, size), BITSET_NONE);
		bitset_free(&set);
	}
}

static void test_edges(void **state)
{
	struct edges edges;
	struct edges_walk walk;
	struct edge edge;

	(void)state;
	assert_int_equal(edges_init(&edges, 1000, 600), 0);
	for (uint32_t source = 3; source < 1000; source += 5)
		for (uint32_t i = 0; i < source % 3; i++)
			assert_true(edges_add(
				&edges, source,
				&(struct edge){.target = source + i, .offset = i ? source : 0}));
	assert_false(edges_add(&edges, 5, &(struct edge){.target = 1}));
	edges_finish(&edges);
	for (uint32_t source = 0; source < 1000; source++) {
		uint32_t count = source % 5 == 3 ? source % 3 : 0;

		edges_walk_begin(&walk, &edges, source);
		for (uint32_t i = 0; i < count; i++) {
			assert_true(edges_walk_next(&walk, &edge));
			assert_int_equal(edge.target, source + i);
			assert_int_equal(edge.offset, i ? source : 0);
		}
		assert_false(edges_walk_next(&walk, &edge));
	}
	edges_free(&edges);
}

/* Room for three words. */
static void test_edges_are_refused(void **state)
{
	struct edges edges;
	struct edge start = {.target = 1}, inside = {.target = 1, .offset = 1ULL << 40};

	(void)state;
	assert_int_equal(edges_init(&edges, 10, 3), 0);
	assert_true(edges_add(&edges, 2, &inside));
	assert_false(edges_add(&edges, 3, &inside));
	assert_true(edges_add(&edges, 4, &start));
	assert_false(edges_add(&edges, 4, &start));
	edges_free(&edges);
}

/* Two neighbours, a large block and a distant one: each is filtered out once it is marked. */
#define TURNS 9 /* so that there are enough words to be filtered eight at a time */

static void check_settled(bool wide)
{
	static const struct sized_block items[] = {
		{0x10000, 16}, {0x10020, 0}, {0x11000, 0x100000}, {0x7f0000000000, 64}};
	uint64_t words[] = {0x10000, 0x10020, 0x11000, 0x80000, 0x7f0000000008, 0x500000, 8};
	struct blocks blocks = {0};
	struct settled settled;

	for (size_t i = 0; i < 4; i++)
		blocks_add(&blocks, items[i].address, items[i].size);
	assert_int_equal(blocks_seal(&blocks), 0);
	assert_int_equal(settled_init(&settled, &blocks), 0);
	settled.wide &= wide;
	for (size_t done = 0; done <= 4; done++) {
		uint64_t kept[7 * TURNS], low, high;
		uint32_t positions[7 * TURNS];
		size_t count, expected = 0;
		struct hit hits[7 * TURNS];

		for (size_t i = 0; i < 7 * TURNS; i++)
			kept[i] = words[i / TURNS]; /* runs within a span, and other spans */
		for (uint32_t i = 0; i < 7 * TURNS; i++)
			positions[i] = i;
		settled_range(&settled, &blocks, &low, &high);
		count = settled_filter(&settled, &blocks, kept, positions, 7 * TURNS);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(kept[i], words[positions[i] / TURNS]);
		count = blocks_find(&blocks, kept, positions, count, hits);
		for (size_t i = 0; i < count; i++) {
			uint64_t address = blocks_address(&blocks, hits[i].slot);

			if (done == 4 || address < items[done].address)
				continue;
			assert_true(low <= address && address < high);
			expected++;
		}
		assert_int_equal(expected, TURNS * (done < 2 ? 5 - done : done < 3 ? 3 : 4 - done));
		if (done < 4)
			settled_mark(&settled, &blocks, blocks_at(&blocks, items[done].address));
		else
			assert_true(low == high && !count);
	}
	settled_free(&settled);
	blocks_free(&blocks);
}

static void test_settled_blocks_are_filtered(void **state)
{
	(void)state;
	check_settled(false);
	check_settled(true);
}

static uint64_t stamp_of(void *ctx, uint64_t address)
{
	(void)address;
	return *(uint64_t *)ctx;
}

/* Confirmation ends, even if the passes never agree. */
static void test_confirm_ends(void **state)
{
	struct confirm confirm = {0};
	struct blocks blocks = {0};
	uint8_t classes[128];
	struct scan_result result = {.class_of = classes};
	uint64_t stamp = 1;

	(void)state;
	memset(classes, LEAK_DEFINITE, sizeof(classes));
	for (uint64_t i = 1; i <= 64; i++)
		blocks_add(&blocks, i * 64, 48);
	blocks_seal(&blocks);
	while (!confirm_done(&confirm, 2)) {
		assert_int_equal(confirm_pass(&confirm, &blocks, &result, stamp_of, &stamp), 0);
		classes[confirm.passes] = LEAK_REACHABLE;
	}
	assert_int_equal(confirm.passes, 2 * CONFIRM_PATIENCE);
	confirm_free(&confirm);
	blocks_free(&blocks);
}

/* Of four leaked blocks, one moves and one is freed; a fourth is leaked in the last pass only. */
static void test_confirm(void **state)
{
	struct confirm confirm = {0};
	struct blocks blocks = {0};
	uint8_t classes[16] = {LEAK_DEFINITE, LEAK_INDIRECT, LEAK_DEFINITE, LEAK_REACHABLE};
	struct scan_result result = {.class_of = classes};
	uint64_t stamp = 1;

	(void)state;
	for (uint64_t i = 1; i <= 4; i++)
		blocks_add(&blocks, i * 64, 48);
	blocks_seal(&blocks);
	assert_false(confirm_done(&confirm, 2));
	assert_int_equal(confirm_pass(&confirm, &blocks, &result, stamp_of, &stamp), 0);
	assert_int_equal(confirm.suspects.count, 3);
	classes[0] = LEAK_INDIRECT;
	classes[2] = LEAK_REACHABLE;
	classes[3] = LEAK_DEFINITE;
	result.classes[LEAK_INDIRECT] = (struct scan_sum){2, 96};
	result.classes[LEAK_DEFINITE] = (struct scan_sum){1, 48};
	assert_int_equal(confirm_pass(&confirm, &blocks, &result, stamp_of, &stamp), 0);
	assert_false(confirm_done(&confirm, 2)); /* the passes did not agree */
	assert_int_equal(confirm_pass(&confirm, &blocks, &result, stamp_of, &stamp), 0);
	assert_true(confirm_done(&confirm, 2));
	assert_false(confirm_done(&confirm, 3));
	confirm_apply(&confirm, &blocks, &result);
	assert_int_equal(classes[0], LEAK_INDIRECT);
	assert_int_equal(classes[1], LEAK_INDIRECT);
	assert_int_equal(classes[3], LEAK_UNKNOWN);
	assert_int_equal(result.classes[LEAK_DEFINITE].blocks, 0);
	assert_int_equal(result.classes[LEAK_UNKNOWN].bytes, 48);
	stamp = 2; /* other blocks at the same addresses */
	assert_int_equal(confirm_pass(&confirm, &blocks, &result, stamp_of, &stamp), 0);
	assert_int_equal(confirm.suspects.count, 0);
	assert_true(confirm_done(&confirm, 99));
	confirm_free(&confirm);
	blocks_free(&blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_large_blocks),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_bitset),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_edges_are_refused),
		cmocka_unit_test(test_settled_blocks_are_filtered),
		cmocka_unit_test(test_confirm),
		cmocka_unit_test(test_confirm_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
