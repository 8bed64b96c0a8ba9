/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The leak scan on simulated memory.
 *
 * Under sanitizers only every fifth random graph is scanned. EXHAUSTIVE=1 scans all of them (see
 * sweep.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "scan/read/copy.h"
#include "tests/unit/scan/heap_world.h"
#include "tests/unit/sweep.h"

/* The process continues, and changes everything. */
static void run_on(void *ctx)
{
	struct world *world = ctx;

	for (size_t i = 0; i < world->area_count; i++)
		if (world->ranges[i].start == ROOT || world->ranges[i].start == HEAP)
			memset(world->bytes[i], 0x50,
			       world->ranges[i].end - world->ranges[i].start);
	world->collected++;
}

static void let_run(struct world *world, struct copy *copy)
{
	world->input.copy = copy;
	world->input.collected = run_on;
	world->input.collected_ctx = world;
}

static void test_classes(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 8);
	world_put(&world, ROOT + 8, block(0));
	world_put(&world, block(0) + 40, block(1));
	world_put(&world, ROOT + 16, block(2) + 16);
	world_put(&world, block(2), block(3));
	world_put(&world, block(4), block(5));
	world_put(&world, block(5) + 8, block(6) + 4);
	world_put(&world, ROOT + 24, block(7) + 48);
	expect(&world, "rrppdiid");
	assert_int_equal(world.result.classes[LEAK_DEFINITE].blocks, 2);
	assert_int_equal(world.result.classes[LEAK_DEFINITE].bytes, 96);
	assert_int_equal(world.result.classes[LEAK_INDIRECT].bytes, 96);
	assert_int_equal(world.result.bytes_scanned, 0x4000 + SIZE);
	assert_int_equal(world.result.bytes_unreadable, 0);
	world_free(&world);
}

/* Pointers to the start win over interior ones, whichever is found first. */
static void test_possible_becomes_reachable(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 6);
	world_put(&world, ROOT, block(3) + 8);
	world_put(&world, block(3), block(0));
	world_put(&world, block(0), block(1));
	world_put(&world, ROOT + 0x3ff8, block(4));
	world_put(&world, block(4), block(5));
	world_put(&world, block(5), block(3));
	expect(&world, "rrdrrr");
	world_free(&world);
}

static void test_chains(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 9);
	/* 2 → 1 → 0 reachable; 5 → 4 → 3 leaked; 6 → 7 and 8 → 7 leaked */
	world_put(&world, ROOT, block(2));
	world_put(&world, block(2), block(1));
	world_put(&world, block(1), block(0));
	world_put(&world, block(5), block(4));
	world_put(&world, block(4), block(3));
	world_put(&world, block(6), block(7));
	world_put(&world, block(8), block(7));
	expect(&world, "rrriiddid");
	world_free(&world);
}

static void test_cycles(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 10);
	/* 0 ↔ 1; 2 → 3 → 4 → 2; 7 → (5 ↔ 6); 8 → 8; 9 alone */
	world_put(&world, block(0), block(1));
	world_put(&world, block(1), block(0));
	world_put(&world, block(2), block(3));
	world_put(&world, block(3), block(4));
	world_put(&world, block(4), block(2));
	world_put(&world, block(5), block(6));
	world_put(&world, block(6), block(5));
	world_put(&world, block(7), block(6));
	world_put(&world, block(8), block(8));
	expect(&world, "didiiiiddd");
	world_free(&world);
}

static void test_registers(void **state)
{
	struct world world;
	uint64_t registers[] = {0, block(0), block(1) + 1};

	(void)state;
	furnish(&world, 3);
	world.registers[0] = (struct scan_bytes){registers, sizeof(registers)};
	world.input.register_count = 1;
	expect(&world, "ssd");
	world_free(&world);
}

static void test_steps(void **state)
{
	static const struct {
		unsigned int step;
		const char *classes;
	} cases[] = {{8, "rdd"}, {4, "rrd"}, {2, "rrr"}, {1, "rrr"}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct world world;

		furnish(&world, 3);
		world.input.step = cases[i].step;
		world_put(&world, ROOT + 0x1000, block(0));
		world_put(&world, block(0) + 4, block(1));
		world_put(&world, ROOT + 0x2002, block(2));
		expect(&world, cases[i].classes);
		world_free(&world);
	}
}

/* Unaligned words across the boundary of two reads. */
static void test_unaligned_words_across_reads(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 0);
	world.input.step = 4;
	for (size_t i = 0; i < 3; i++)
		world_block(&world, block(i), 48);
	world_block(&world, HEAP + 0x1000, 0xa0000);
	world_put(&world, ROOT, HEAP + 0x1000);
	world_put(&world, HEAP + 0x2000 - 4, block(0));
	world_put(&world, HEAP + 0x40000 - 4, block(1));
	world_put(&world, HEAP + 0x80000 - 8, block(2));
	expect(&world, "rrr");
	world_free(&world);
}

static void test_32_bit_words(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 5);
	world.input.word = world.input.step = 4;
	world_put(&world, ROOT + 4, block(0));
	world_put(&world, block(0) + 44, block(1));
	world_put(&world, ROOT + 12, block(2) + 4);
	world_put(&world, block(3) + 4, block(4));
	expect(&world, "rrpdi");
	world_free(&world);
}

/* Pointers with a number in their upper 16 bits. */

static uint64_t tagged(uint64_t address)
{
	return address | 0xabcdULL << 48;
}

static void test_block_behind_tagged_pointer_is_possible(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 8);
	world_put(&world, ROOT, tagged(block(0)));
	world_put(&world, block(0) + 8, tagged(block(1)));
	world_put(&world, block(1), block(2));
	world_put(&world, ROOT + 8, tagged(block(3) + 8)); /* not to the start: not a pointer */
	world_put(&world, block(4), tagged(block(5)));
	world_put(&world, ROOT + 16, tagged(block(6)));
	world_put(&world, ROOT + 24, block(6));
	world_put(&world, ROOT + 32, block(7) + 8);
	expect(&world, "pppddirp");
	assert_int_equal(world.result.blocks_tagged, 2);
	world_free(&world);
}

static void test_tagged_words_at_any_step(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 3);
	world.input.step = 1;
	world_put(&world, ROOT + 0x1001, tagged(block(0)));
	world_put(&world, ROOT + 0x100a, block(1));
	world_put(&world, block(1) + 3, tagged(block(2)));
	expect(&world, "prp");
	world_free(&world);
}

static void test_tagged_words_on_stacks_and_in_registers(void **state)
{
	struct world world;
	uint64_t registers[] = {0, tagged(block(0)), tagged(block(1) + 16)};

	(void)state;
	furnish(&world, 3);
	world.registers[0] = (struct scan_bytes){registers, sizeof(registers)};
	world.input.register_count = 1;
	world.ranges[0].stack = true;
	world_put(&world, ROOT + 8, tagged(block(2)));
	expect(&world, "sds");
	world_free(&world);
}

/* Addresses above 2^48 leave no room for tags. */
static void test_high_addresses_have_no_tags(void **state)
{
	const uint64_t high = 1ULL << 52;
	struct world world;

	(void)state;
	world_init(&world);
	world_area(&world, ROOT, 0x4000);
	world_area(&world, high, 0x4000);
	world_block(&world, high + 0x40, 48);
	world_block(&world, high + 0x80, 48);
	world_put(&world, ROOT, high + 0x40);
	world_put(&world, ROOT + 8, (high + 0x80) | 1ULL << 60);
	assert_int_equal(world_scan(&world), 0);
	assert_int_equal(world_class(&world, high + 0x40), LEAK_REACHABLE);
	assert_int_equal(world_class(&world, high + 0x80), LEAK_DEFINITE);
	world_free(&world);
}

static void test_sizes(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 0);
	world_block(&world, block(0), 0);
	world_block(&world, block(1), 0);
	world_block(&world, block(2), 1);
	world_block(&world, block(3), 20); /* its last word counts, because malloc rounds up */
	world_block(&world, block(4), 8);
	world_block(&world, 0x7000000000ULL, 6ULL << 30);
	world_put(&world, ROOT, block(0));
	world_put(&world, ROOT + 8, block(1) + 1);
	world_put(&world, ROOT + 16, block(2));
	world_put(&world, ROOT + 24, block(3));
	world_put(&world, block(3) + 16, block(4));
	world_put(&world, ROOT + 32, 0x7000000000ULL + (5ULL << 30));
	expect(&world, "rdrrr");
	assert_int_equal(world_class(&world, 0x7000000000ULL), LEAK_POSSIBLE);
	world_free(&world);
}

static void check_idiom_kinds(struct copy *copy)
{
	struct world world;

	world_init(&world);
	let_run(&world, copy);
	world_area(&world, ROOT, 0x4000);
	world_area(&world, 0x400000, 0x2000); /* vtables, then code */
	world_area(&world, HEAP, SIZE);
	world.images[0] = (struct scan_image){0x400000, 0x401000, false};
	world.images[1] = (struct scan_image){0x401000, 0x402000, true};
	world.input.image_count = 2;
	for (size_t i = 0; i < 8; i++) {
		world_put(&world, 0x400100 + i * 8, 0x401000 + i);
		world_block(&world, block(i), 48);
	}
	/* std::string: length 10 of 23; length 24 of 23 */
	world_put(&world, block(0), 10);
	world_put(&world, block(0) + 8, 23);
	world_put(&world, ROOT, block(0) + 24);
	world_put(&world, block(1), 24);
	world_put(&world, block(1) + 8, 23);
	world_put(&world, ROOT + 8, block(1) + 24);
	/* the length of the rest; the number of elements; not a divisor */
	world_put(&world, block(2), 40);
	world_put(&world, ROOT + 16, block(2) + 8);
	world_put(&world, block(3), 5);
	world_put(&world, ROOT + 24, block(3) + 8);
	world_put(&world, block(4), 7);
	world_put(&world, ROOT + 32, block(4) + 8);
	/* two base classes; the second pointer is to data; a base class at the wrong place */
	world_put(&world, block(5), 0x400100);
	world_put(&world, block(5) + 16, 0x400120);
	world_put(&world, ROOT + 40, block(5) + 16);
	world_put(&world, block(6), 0x400100);
	world_put(&world, block(6) + 16, 0x400800);
	world_put(&world, ROOT + 48, block(6) + 16);
	world_put(&world, block(7), 0x400100);
	world_put(&world, block(7) + 16, 0x400120);
	world_put(&world, ROOT + 56, block(7) + 24);
	expect(&world, "rprrprpp");
	assert_int_equal(!!world.result.copied, !!copy);
	world_free(&world);
}

static void test_idiom_kinds(void **state)
{
	struct copy *copy;

	(void)state;
	check_idiom_kinds(NULL);
	assert_int_equal(copy_open(&copy, 4 << 20), 0);
	check_idiom_kinds(copy);
	copy_close(copy);
}

/* The result is as if nothing had changed, and unreadable pages are still known. */
static void test_copy(void **state)
{
	struct world world;
	struct copy *copy;
	uint64_t registers[] = {block(4)};

	(void)state;
	assert_int_equal(copy_open(&copy, 2 << 20), 0);
	furnish(&world, 6);
	let_run(&world, copy);
	world.registers[0] = (struct scan_bytes){registers, sizeof(registers)};
	world.input.register_count = 1;
	world_block(&world, HEAP + 0x10000, 0x3000);
	world.holes[world.hole_count++] = HEAP + 0x11000;
	world.unknown[world.unknown_count++] = HEAP + 0x80000;
	world_put(&world, ROOT + 0x3ff8, block(0));
	world_put(&world, block(0) + 40, block(1));
	world_put(&world, block(2), block(3));
	expect(&world, "rruusu");
	assert_int_equal(world.collected, 1);
	assert_int_equal(world.result.copied, 0x4000 + SIZE - 2 * WORLD_PAGE);
	assert_int_equal(world.result.bytes_unreadable, WORLD_PAGE);
	copy_close(copy);
	world_free(&world);
}

/* Pages that are known to be unreadable, among readable ones. */
static void test_copy_unknown(void **state)
{
	struct world world;
	struct copy *copy;

	(void)state;
	assert_int_equal(copy_open(&copy, 2 << 20), 0);
	furnish(&world, 2);
	let_run(&world, copy);
	world_block(&world, HEAP + 0x10000, 0x3000);
	world_put(&world, ROOT, HEAP + 0x10000);
	world.unknown[world.unknown_count++] = HEAP + 0x11000;
	expect(&world, "uu");
	assert_int_equal(world.result.bytes_unreadable, WORLD_PAGE);
	copy_close(copy);
	world_free(&world);
}

/* If the copy has no room, memory is scanned in place, and the process continues afterwards. */
static void test_copy_too_small(void **state)
{
	struct world world;
	struct copy *copy;

	(void)state;
	assert_int_equal(copy_open(&copy, 512 << 10), 0);
	furnish(&world, 3);
	let_run(&world, copy);
	world_put(&world, ROOT, block(0));
	world_put(&world, block(1), block(2));
	expect(&world, "rdi");
	assert_int_equal(world.collected, 1);
	assert_int_equal(world.result.copied, 0);
	world.input.step = 3;
	assert_int_equal(world_scan(&world), -EINVAL);
	assert_int_equal(world.collected, 2);
	copy_close(copy);
	world_free(&world);
}

/* A page that may hold the missing pointer makes all leaked blocks unknown. */
static void test_unreadable_root(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 3);
	world_put(&world, ROOT, block(0));
	world_put(&world, ROOT + 0x3000, block(1));
	world.holes[world.hole_count++] = ROOT + 0x1000;
	expect(&world, "rru");
	assert_int_equal(world.result.bytes_unreadable, WORLD_PAGE);
	world.hole_count = 0;
	world.unknown[world.unknown_count++] = ROOT + 0x2000;
	expect(&world, "rru");
	assert_int_equal(world.result.bytes_unreadable, WORLD_PAGE);
	world_free(&world);
}

static void test_unreadable_block(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 2);
	world_block(&world, HEAP + 0x10000, 0x3000);
	world.holes[world.hole_count++] = HEAP + 0x11000;
	world_put(&world, ROOT, block(0));
	expect(&world, "rd"); /* a page of a leaked block does not matter */
	assert_int_equal(world.result.bytes_unreadable, 0);
	world_put(&world, block(0), HEAP + 0x10100);
	expect(&world, "ru");
	assert_int_equal(world.result.bytes_unreadable, WORLD_PAGE);
	world_free(&world);
}

/* More blocks wait to be followed than fit into the list. */
static void test_many_wait(void **state)
{
	const size_t count = 1500;
	struct world world;
	uint64_t last = HEAP + 2 * count * STEP;

	(void)state;
	furnish(&world, 2 * count);
	world_block(&world, last, count * 8);
	world_put(&world, ROOT, last);
	for (size_t i = 0; i < count; i++) {
		world_put(&world, last + i * 8, block(i));
		world_put(&world, block(i), block(count + i));
	}
	assert_int_equal(world_scan(&world), 0);
	assert_int_equal(world.result.classes[LEAK_REACHABLE].blocks, 2 * count + 1);
	world_free(&world);
}

static void test_bad_input(void **state)
{
	struct world world;

	(void)state;
	furnish(&world, 1);
	world.input.word = 6;
	assert_int_equal(world_scan(&world), -EINVAL);
	world.input.word = 8;
	world.input.step = 3;
	assert_int_equal(world_scan(&world), -EINVAL);
	world.input.step = 16;
	assert_int_equal(world_scan(&world), -EINVAL);
	world.input.step = 0;
	assert_int_equal(world_scan(&world), -EINVAL);
	world_free(&world);
}

static void test_nothing(void **state)
{
	struct world world;

	(void)state;
	world_init(&world);
	assert_int_equal(world_scan(&world), 0);
	world_free(&world);
	furnish(&world, 0);
	assert_int_equal(world_scan(&world), 0);
	assert_int_equal(world.result.bytes_scanned, 0x4000 + SIZE);
	world_free(&world);
}

/* Compared with a naive reference: random graphs, by levels up to the fixed point. */

#define NODES      60
#define ROOT_WORDS 12

struct graph {
	bool edge[NODES + 1][NODES]; /* row NODES: the roots */
	bool interior[NODES + 1][NODES];
	int level[NODES]; /* 2 start, 1 interior, 0 leaked */
	bool leads[NODES][NODES];
};

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

static void reference_levels(struct graph *graph)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (int from = 0; from <= NODES; from++) {
			int level = from == NODES ? 2 : graph->level[from];

			for (int to = 0; level && to < NODES; to++) {
				int reach = graph->edge[from][to]       ? level
					    : graph->interior[from][to] ? 1
									: 0;

				if (reach <= graph->level[to])
					continue;
				graph->level[to] = reach;
				changed = true;
			}
		}
	}
}

static void reference_leads(struct graph *graph)
{
	for (int i = 0; i < NODES; i++)
		for (int j = 0; j < NODES; j++)
			graph->leads[i][j] = !graph->level[i] && !graph->level[j] && i != j &&
					     (graph->edge[i][j] || graph->interior[i][j]);
	for (int k = 0; k < NODES; k++)
		for (int i = 0; i < NODES; i++)
			for (int j = 0; j < NODES; j++)
				graph->leads[i][j] |= graph->leads[i][k] && graph->leads[k][j];
}

/* Definite: every block that leads here is also led to from here, and has a higher address. */
static enum leak_class reference_class(const struct graph *graph, int node)
{
	if (graph->level[node])
		return graph->level[node] == 2 ? LEAK_REACHABLE : LEAK_POSSIBLE;
	for (int other = 0; other < NODES; other++)
		if (graph->leads[other][node] && (!graph->leads[node][other] || other < node))
			return LEAK_INDIRECT;
	return LEAK_DEFINITE;
}

/* A pointer that makes its block possible. */
static uint64_t interior(int node, uint64_t *seed)
{
	uint64_t start = block((size_t)node);

	return random_next(seed) % 2 ? start + 48 : tagged(start);
}

static void draw_graph(struct world *world, struct graph *graph, uint64_t seed)
{
	for (int i = 0; i < NODES; i++) {
		world_block(world, block((size_t)i), 56);
		for (uint64_t at = 0; at < 7; at++) {
			int to = (int)(random_next(&seed) % NODES);
			uint64_t kind = random_next(&seed) % 16;

			if (kind > 2 || to == i)
				continue;
			world_put(world, block((size_t)i) + at * 8,
				  kind ? block((size_t)to) : interior(to, &seed));
			graph->edge[i][to] |= kind;
			graph->interior[i][to] |= !kind;
		}
	}
	for (uint64_t at = 0; at < ROOT_WORDS; at++) {
		int to = (int)(random_next(&seed) % NODES);
		uint64_t kind = random_next(&seed) % 4;

		if (kind > 1)
			continue;
		world_put(world, ROOT + at * 8, kind ? block((size_t)to) : interior(to, &seed));
		graph->edge[NODES][to] |= kind;
		graph->interior[NODES][to] |= !kind;
	}
}

static void test_random_graphs(void **state)
{
	struct copy *copy;

	(void)state;
	assert_int_equal(copy_open(&copy, 4 << 20), 0);
	for (uint64_t seed = 1; seed <= 2000; seed += sweep_step(5)) {
		struct world world;
		struct graph graph = {0};

		furnish(&world, 0);
		world.input.read_ahead = seed % 16 == 0;
		world.input.heap_is_known = seed % 3 == 0;
		if (seed % 4 == 0)
			let_run(&world, copy);
		draw_graph(&world, &graph, seed);
		assert_int_equal(world_scan(&world), 0);
		assert_int_equal(world.collected, seed % 4 == 0);
		reference_levels(&graph);
		reference_leads(&graph);
		for (int i = 0; i < NODES; i++)
			assert_int_equal(world_class(&world, block((size_t)i)),
					 reference_class(&graph, i));
		world_free(&world);
	}
	copy_close(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_possible_becomes_reachable),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_unaligned_words_across_reads),
		cmocka_unit_test(test_32_bit_words),
		cmocka_unit_test(test_block_behind_tagged_pointer_is_possible),
		cmocka_unit_test(test_tagged_words_at_any_step),
		cmocka_unit_test(test_tagged_words_on_stacks_and_in_registers),
		cmocka_unit_test(test_high_addresses_have_no_tags),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_idiom_kinds),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_copy_unknown),
		cmocka_unit_test(test_copy_too_small),
		cmocka_unit_test(test_unreadable_root),
		cmocka_unit_test(test_unreadable_block),
		cmocka_unit_test(test_random_graphs),
		cmocka_unit_test(test_many_wait),
		cmocka_unit_test(test_bad_input),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
