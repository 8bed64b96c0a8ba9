/* SPDX-License-Identifier: GPL-2.0-or-later */
/* References on stacks and in registers that the caller can exclude, and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "tests/unit/scan/heap_world.h"

/* References that the scan asked about. Those at `dead` are dead. */
struct classifier {
	uint64_t asked[16];
	size_t count;
	size_t calls;
	uint64_t dead;
	bool silent; /* gives no answers */
	int error;
};

static int classify(void *ctx, const struct scan_memory *memory, struct scan_reference *references,
		    size_t count)
{
	struct classifier *classifier = ctx;

	(void)memory;
	classifier->calls++;
	for (size_t i = 0; i < count; i++) {
		bool in_register = references[i].registers != SCAN_IN_MEMORY;

		if (!classifier->silent)
			references[i].answer =
				!in_register && references[i].address == classifier->dead
					? REFERENCE_DEAD
					: REFERENCE_LIVE;
		if (classifier->count < sizeof(classifier->asked) / sizeof(classifier->asked[0]))
			classifier->asked[classifier->count] = references[i].address;
		classifier->count++;
	}
	return classifier->error;
}

static void furnish_stack(struct world *world, struct classifier *classifier)
{
	furnish(world, 6);
	world->ranges[0].stack = true;
	world->input.classify = classify;
	world->input.classify_ctx = classifier;
}

static void test_dead_stack_word_is_no_root(void **state)
{
	struct classifier classifier = {.dead = ROOT + 8};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world_put(&world, ROOT + 8, block(0));
	world_put(&world, block(0), block(1));
	world_put(&world, ROOT + 16, block(2));
	world_put(&world, ROOT + 24, block(3) + 8);
	expect(&world, "dirpdd");
	assert_int_equal(classifier.calls, 1);
	assert_int_equal(classifier.count, 3);
	assert_int_equal(world.result.references_dead, 1);
	world_free(&world);
}

/* Heap and global pointers keep a block reachable without its dead stack word. */
static void test_dead_stack_word_beside_a_live_reference(void **state)
{
	struct classifier classifier = {.dead = ROOT + 8};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world_put(&world, ROOT + 8, block(0));
	world_put(&world, ROOT + 16, block(1));
	world_put(&world, block(1), block(0));
	expect(&world, "rrdddd");
	world_free(&world);
}

/* Blocks that a global leads to are reachable, whether or not stack words point to them. */
static void test_references_to_blocks_that_roots_reach_are_not_classified(void **state)
{
	struct classifier classifier = {0};
	struct world world;

	(void)state;
	world_init(&world);
	world_area(&world, ROOT, 0x1000);
	world_area(&world, ROOT + 0x2000, 0x1000);
	world_area(&world, HEAP, SIZE);
	world_block(&world, block(0), 48);
	world.ranges[0].stack = true;
	world.input.classify = classify;
	world.input.classify_ctx = &classifier;
	world_put(&world, ROOT, block(0));
	world_put(&world, ROOT + 0x2000, block(0));
	expect(&world, "r");
	assert_int_equal(classifier.count, 0);
	world_free(&world);
}

static void test_registers_are_classified(void **state)
{
	uint64_t registers[] = {0, block(0)};
	struct classifier classifier = {0};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world.registers[0] = (struct scan_bytes){registers, sizeof(registers)};
	world.input.register_count = 1;
	expect(&world, "rddddd");
	assert_int_equal(classifier.count, 1);
	assert_int_equal(classifier.asked[0], 8);
	world_free(&world);
}

static void test_words_that_the_kernel_keeps_are_roots(void **state)
{
	uint64_t words[] = {5, block(1), block(3) + 8};
	struct classifier classifier = {0};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world.input.kernel_words = words;
	world.input.kernel_word_count = 3;
	world_put(&world, block(1), block(0));
	expect(&world, "rrdpdd");
	assert_int_equal(classifier.count, 0);
	world_free(&world);
}

static void test_failed_classification_fails_the_scan(void **state)
{
	struct classifier classifier = {.error = -ECANCELED};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world_put(&world, ROOT, block(0));
	assert_int_equal(world_scan(&world), -ECANCELED);
	world_free(&world);
}

/* A block on a stack is scanned as a block. */
static void test_stack_that_holds_blocks_is_not_classified(void **state)
{
	struct classifier classifier = {0};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world_block(&world, ROOT + 0x100, 64);
	world_put(&world, ROOT, block(0));
	world_put(&world, ROOT + 0x108, block(1));
	expect(&world, "ridddd");
	assert_int_equal(classifier.calls, 0);
	world_free(&world);
}

/* A block with another reference is reachable. */
static void test_other_references_win_over_unknown_ones(void **state)
{
	struct classifier classifier = {.silent = true};
	struct world world;

	(void)state;
	world_init(&world);
	world_area(&world, ROOT, 0x1000);
	world_area(&world, ROOT + 0x2000, 0x1000);
	world_area(&world, HEAP, SIZE);
	for (size_t i = 0; i < 8; i++)
		world_block(&world, block(i), 48);
	world.ranges[0].stack = true;
	world.input.classify = classify;
	world.input.classify_ctx = &classifier;
	for (size_t i = 0; i < 6; i++)
		world_put(&world, ROOT + i * 8, block(i));
	world_put(&world, ROOT + 0x2000, block(1));    /* a global */
	world_put(&world, ROOT + 0x2008, block(7));    /* a global points to it … */
	world_put(&world, block(7), block(2));         /* … beyond it … */
	world_put(&world, block(2), block(4));         /* … and further */
	world_put(&world, block(7) + 8, block(3) + 8); /* interior */
	world_put(&world, block(6), block(5));         /* a leaked block */
	expect(&world, "srrrrsdr");
	assert_int_equal(world.result.classes[LEAK_STACK].blocks, 2);
	assert_int_equal(world.result.classes[LEAK_STACK].bytes, 96);
	assert_int_equal(world.result.classes[LEAK_REACHABLE].blocks, 5);
	world_free(&world);
}

/* Memory of the heap that belongs to no block is a root. */
static void test_unknown_reference_beside_memory_between_blocks(void **state)
{
	struct classifier classifier = {.silent = true};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world_put(&world, ROOT, block(0));
	world_put(&world, HEAP + 0x10000, block(0));
	expect(&world, "rddddd");
	world_free(&world);
}

/* Only blocks that stack words point to are stack-only; blocks below them are reachable. */
static void test_blocks_below_a_stack_only_block_are_reachable(void **state)
{
	struct classifier classifier = {.silent = true};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world_put(&world, ROOT, block(3));
	world_put(&world, block(3), block(0));
	world_put(&world, block(0), block(5));
	world_put(&world, block(5), block(1) + 8);
	world_put(&world, block(5) + 8, block(5));
	world_put(&world, block(1), block(2));
	expect(&world, "rppsdr");
	world_free(&world);
}

static void test_interior_pointer_on_the_stack(void **state)
{
	struct classifier classifier = {.silent = true};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world_put(&world, ROOT, block(1) + 8);
	world_put(&world, block(1), block(0));
	world_put(&world, ROOT + 8, block(2) + 8);
	world_put(&world, ROOT + 16, block(2));
	expect(&world, "pssddd");
	assert_int_equal(world.result.classes[LEAK_STACK].blocks, 2);
	assert_int_equal(world.result.classes[LEAK_POSSIBLE].blocks, 1);
	world_free(&world);
}

/* A tree whose nodes point to their parents, and a circular list. */
static void test_cycle_back_to_a_stack_only_block(void **state)
{
	struct classifier classifier = {.silent = true};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world_put(&world, ROOT, block(1));
	world_put(&world, block(1), block(0));
	world_put(&world, block(0), block(1));
	world_put(&world, block(1) + 8, block(2));
	world_put(&world, block(2), block(1));
	world_put(&world, ROOT + 8, block(4));
	world_put(&world, block(4), block(3));
	world_put(&world, block(3), block(5));
	world_put(&world, block(5), block(4));
	expect(&world, "rsrrsr");
	world_free(&world);
}

/* Blocks that the word of an outer frame leads to are below its block, even if another stack word
 * points to them. */
static void test_stack_only_block_below_another(void **state)
{
	struct classifier classifier = {.silent = true};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world_put(&world, ROOT, block(2)); /* the inner frame */
	world_put(&world, ROOT + 8, block(4));
	world_put(&world, ROOT + 64, block(0)); /* the outer frame */
	world_put(&world, block(0), block(1));
	world_put(&world, block(1), block(2));
	world_put(&world, block(2), block(3));
	world_put(&world, block(3), block(0)); /* and back */
	world_put(&world, block(4), block(5));
	expect(&world, "srrrsr");
	world_free(&world);
}

/* Without a classifier, nothing is known about the words of stacks and registers. */
static void test_stacks_without_classification(void **state)
{
	uint64_t registers[] = {0, block(0)};
	struct classifier classifier = {0};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world.input.classify = NULL;
	world.registers[0] = (struct scan_bytes){registers, sizeof(registers)};
	world.input.register_count = 1;
	world_put(&world, ROOT, block(1));
	world_put(&world, block(1), block(2));
	expect(&world, "ssrddd");
	assert_int_equal(world.result.references_dead, 0);
	world_free(&world);
}

static void test_thread_local_memory_is_no_stack(void **state)
{
	struct classifier classifier = {0};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world.input.classify = NULL;
	world.ranges[0].thread_data = ROOT + 0x1000;
	world_put(&world, ROOT + 0xff8, block(0));
	world_put(&world, ROOT + 0x1000, block(1));
	expect(&world, "srdddd");
	world_free(&world);
}

/* A root leads to the block through a pointer that is only followed after the pass. */
static void test_stack_only_block_that_a_root_reaches_late(void **state)
{
	uint64_t registers[] = {block(0) + 8};
	struct classifier classifier = {.silent = true};
	struct world world;

	(void)state;
	furnish_stack(&world, &classifier);
	world.ranges[0].stack = false;
	world.registers[0] = (struct scan_bytes){registers, sizeof(registers)};
	world.input.register_count = 1;
	world_put(&world, block(0), block(1));
	world_put(&world, ROOT, block(2) + 8);
	world_put(&world, block(2), block(0));
	expect(&world, "ppp");
	world_put(&world, ROOT, 0); /* now the block is not below another one either */
	expect(&world, "spd");
	world_free(&world);
}

#define NODES  24
#define LINKS  3
#define GRAPHS 3000

/* Random graphs of blocks, with pointers to the start or to the interior. */
struct graph {
	int links[NODES][LINKS]; /* block, or -1 */
	bool reached[NODES];
};

static uint64_t pointer_to(int node)
{
	return block((size_t)node) + (rand() % 2 ? 8 : 0);
}

static void mark(struct graph *graph, int node)
{
	if (graph->reached[node])
		return;
	graph->reached[node] = true;
	for (int i = 0; i < LINKS; i++)
		if (graph->links[node][i] >= 0)
			mark(graph, graph->links[node][i]);
}

static void put_graph(struct world *world, struct graph *graph)
{
	*graph = (struct graph){0};
	for (int node = 0; node < NODES; node++)
		for (int i = 0; i < LINKS; i++) {
			int to = rand() % (3 * NODES);

			graph->links[node][i] = to < NODES ? to : -1;
			world_put(world, block((size_t)node) + 8 * (uint64_t)i,
				  to < NODES ? pointer_to(to) : 0);
		}
}

/* Whatever is known about stack words, a block is leaked if and only if no pointer leads to it. */
static void test_random_graphs(void **state)
{
	struct classifier classifier = {.silent = true};
	struct world world;
	struct graph graph;

	(void)state;
	srand(1);
	furnish(&world, NODES);
	world.input.classify = classify;
	world.input.classify_ctx = &classifier;
	world.input.register_count = 1;
	for (int i = 0; i < GRAPHS; i++) {
		int root = rand() % NODES, one = rand() % NODES, other = rand() % NODES;
		uint64_t registers[] = {pointer_to(one), pointer_to(other)};

		put_graph(&world, &graph);
		world_put(&world, ROOT, pointer_to(root));
		world.registers[0] = (struct scan_bytes){registers, sizeof(registers)};
		mark(&graph, root);
		mark(&graph, one);
		mark(&graph, other);
		assert_int_equal(world_scan(&world), 0);
		for (int node = 0; node < NODES; node++) {
			enum leak_class class = world_class(&world, block((size_t)node));

			assert_int_equal(class == LEAK_DEFINITE || class == LEAK_INDIRECT,
					 !graph.reached[node]);
		}
	}
	world_free(&world);
}

/* More candidates than there are ranks, in a heap that is mostly reached early. */
static void test_many_stack_only_blocks(void **state)
{
	struct classifier classifier = {.silent = true};
	struct world world;
	enum { COUNT = 0x3000, HEADS = 400 };

	(void)state;
	furnish_stack(&world, &classifier);
	for (size_t i = 6; i < COUNT; i++)
		world_block(&world, block(i), 48);
	for (size_t i = 0; i < HEADS; i++)
		world_put(&world, ROOT + 0x100 + i * 8, block(i * 16));
	for (size_t i = 0; i < COUNT; i++)
		for (size_t word = 0; word < 48; word += 8)
			world_put(&world, block(i) + word,
				  block(i / 16 * 16 + (i + word / 8 + 1) % 16));
	assert_int_equal(world_scan(&world), 0);
	assert_int_equal(world.result.classes[LEAK_STACK].blocks, HEADS);
	assert_int_equal(world.result.classes[LEAK_REACHABLE].blocks, HEADS * 15);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dead_stack_word_is_no_root),
		cmocka_unit_test(test_dead_stack_word_beside_a_live_reference),
		cmocka_unit_test(test_references_to_blocks_that_roots_reach_are_not_classified),
		cmocka_unit_test(test_registers_are_classified),
		cmocka_unit_test(test_words_that_the_kernel_keeps_are_roots),
		cmocka_unit_test(test_failed_classification_fails_the_scan),
		cmocka_unit_test(test_stack_that_holds_blocks_is_not_classified),
		cmocka_unit_test(test_other_references_win_over_unknown_ones),
		cmocka_unit_test(test_unknown_reference_beside_memory_between_blocks),
		cmocka_unit_test(test_blocks_below_a_stack_only_block_are_reachable),
		cmocka_unit_test(test_interior_pointer_on_the_stack),
		cmocka_unit_test(test_cycle_back_to_a_stack_only_block),
		cmocka_unit_test(test_stack_only_block_below_another),
		cmocka_unit_test(test_stacks_without_classification),
		cmocka_unit_test(test_thread_local_memory_is_no_stack),
		cmocka_unit_test(test_stack_only_block_that_a_root_reaches_late),
		cmocka_unit_test(test_random_graphs),
		cmocka_unit_test(test_many_stack_only_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
