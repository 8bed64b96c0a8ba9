/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The leak scan with too little memory for all pointers, so that blocks are read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/scan/scan_world.h"

#define ROOT 0x10000ULL
#define STEP 0x40ULL /* distance of the blocks of a test */

#define MANY   20000
#define LISTED 6 /* pointers from each block to its successors */

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

static void furnish(struct world *world)
{
	world_init(world);
	world_area(world, ROOT, 0x4000);
}

static void test_many(void **state)
{
	struct world world;
	uint64_t seed = 7;

	(void)state;
	for (int heads = 1; heads >= 0; heads--) {
		uint32_t *order = malloc(MANY * sizeof(*order));

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

/* Small blocks in a row, every other one leaked: when blocks are read again, their neighbours must
 * not be read. */
static void test_many_interleaved(void **state)
{
	const uint64_t heap = 0x7f0000000000ULL, step = 32;
	struct world world;
	uint64_t seed = 7;

	(void)state;
	furnish(&world);
	world_area(&world, heap, MANY * step);
	for (uint32_t i = 0; i < MANY; i++)
		world_block(&world, heap + i * step, 24);
	for (uint32_t i = 0; i < MANY; i++) {
		/* A downward chain through all blocks of a kind, which is found late, and two
		 * random pointers. */
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

/* Random graphs, compared with a simple search. */

#define HEAP  0x7f0000000000ULL
#define COUNT 4000
#define WORDS 6 /* per block */
#define NONE  UINT32_MAX

struct graph {
	uint32_t targets[COUNT][WORDS]; /* or NONE */
	bool interior[COUNT][WORDS];
	uint32_t roots[3];
	uint8_t mark[COUNT];
	uint32_t queue[COUNT];
};

/* Marks every block that this one leads to and that has neither this mark nor one in `without`. */
static void mark_from(struct graph *graph, uint32_t from, uint8_t mark, uint8_t without,
		      bool interior)
{
	size_t count = 0;

	graph->queue[count++] = from;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < WORDS; j++) {
			uint32_t source = graph->queue[i], target = graph->targets[source][j];

			if (target == NONE || target == from || graph->mark[target] & without ||
			    (graph->interior[source][j] && !interior))
				continue;
			graph->mark[target] |= mark;
			without |= mark;
			graph->queue[count++] = target;
		}
	}
}

enum { BY_START = 1, BY_INTERIOR = 2, VISITED = 4, HEAD = 8, INDIRECT = 16 };

static void mark_lost(struct graph *graph)
{
	const uint8_t reached = BY_START | BY_INTERIOR;

	for (uint32_t i = 0; i < COUNT; i++) {
		if (graph->mark[i] & (reached | VISITED))
			continue;
		graph->mark[i] |= VISITED | HEAD;
		mark_from(graph, i, VISITED, reached | VISITED, true);
	}
	for (uint32_t i = COUNT; i-- > 0;)
		if ((graph->mark[i] & (HEAD | INDIRECT)) == HEAD)
			mark_from(graph, i, INDIRECT, reached | INDIRECT, true);
}

static void mark_all(struct graph *graph)
{
	for (size_t i = 0; i < 3; i++)
		if (!(graph->mark[graph->roots[i]] & BY_START)) {
			graph->mark[graph->roots[i]] |= BY_START;
			mark_from(graph, graph->roots[i], BY_START, BY_START, false);
		}
	for (uint32_t i = 0; i < COUNT; i++)
		if (graph->mark[i] & BY_START)
			mark_from(graph, i, BY_INTERIOR, BY_START | BY_INTERIOR, true);
	mark_lost(graph);
}

static enum leak_class class_of_mark(uint8_t mark)
{
	if (mark & BY_START)
		return LEAK_REACHABLE;
	if (mark & BY_INTERIOR)
		return LEAK_POSSIBLE;
	return mark & INDIRECT ? LEAK_INDIRECT : LEAK_DEFINITE;
}

/* `rare`: one word in this many is a pointer. */
static void fill_graph(struct world *world, struct graph *graph, uint64_t *seed, uint64_t rare)
{
	*graph = (struct graph){0};
	for (uint32_t i = 0; i < COUNT; i++) {
		world_block(world, HEAP + i * STEP, 48);
		for (size_t j = 0; j < WORDS; j++) {
			uint32_t target = (uint32_t)(random_next(seed) % COUNT);
			bool interior = random_next(seed) % 8 == 0;

			graph->targets[i][j] = random_next(seed) % rare ? NONE : target;
			graph->interior[i][j] = interior;
			if (graph->targets[i][j] != NONE)
				world_put(world, HEAP + i * STEP + j * 8,
					  HEAP + target * STEP + (interior ? 17 : 0));
		}
	}
	for (size_t i = 0; i < 3; i++) {
		graph->roots[i] = (uint32_t)(random_next(seed) % COUNT);
		world_put(world, ROOT + i * 8, HEAP + graph->roots[i] * STEP);
	}
}

static void test_random_graphs(void **state)
{
	static struct graph graph;
	uint64_t seed = 42, again = 0;

	(void)state;
	for (uint64_t i = 0; i < 60; i++) {
		struct world world;

		furnish(&world);
		world.input.read_ahead = i % 2;
		world_area(&world, HEAP, COUNT * STEP);
		fill_graph(&world, &graph, &seed, 1 + i % 10);
		mark_all(&graph);
		assert_int_equal(world_scan(&world), 0);
		again += world.result.bytes_read_again;
		for (uint32_t j = 0; j < COUNT; j++)
			assert_int_equal(world_class(&world, HEAP + j * STEP),
					 class_of_mark(graph.mark[j]));
		world_free(&world);
	}
	assert_true(again > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_many_interleaved),
		cmocka_unit_test(test_random_graphs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
