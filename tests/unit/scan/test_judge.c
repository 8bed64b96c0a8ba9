/* SPDX-License-Identifier: GPL-2.0-or-later */
/* References on stacks and in registers that the caller of a scan may rule out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "tests/unit/scan/heap_world.h"

/* References on stacks and in registers that a judge is asked about; those at `dead` are dead. */
struct judged {
	uint64_t asked[16];
	size_t count;
	size_t calls;
	uint64_t dead;
	int error;
};

static int judge(void *ctx, const struct scan_memory *memory, struct scan_reference *references,
		 size_t count)
{
	struct judged *judged = ctx;

	(void)memory;
	judged->calls++;
	for (size_t i = 0; i < count; i++) {
		bool in_register = references[i].registers != SCAN_IN_MEMORY;

		references[i].dead = references[i].address == judged->dead && !in_register;
		judged->asked[judged->count++] = references[i].address;
	}
	return judged->error;
}

static void furnish_stack(struct world *world, struct judged *judged)
{
	furnish(world, 6);
	world->ranges[0].stack = true;
	world->input.judge = judge;
	world->input.judge_ctx = judged;
}

static void test_dead_stack_word_is_no_root(void **state)
{
	struct judged judged = {.dead = ROOT + 8};
	struct world world;

	(void)state;
	furnish_stack(&world, &judged);
	world_put(&world, ROOT + 8, block(0));
	world_put(&world, block(0), block(1));
	world_put(&world, ROOT + 16, block(2));
	world_put(&world, ROOT + 24, block(3) + 8);
	expect(&world, "dirpdd");
	assert_int_equal(judged.calls, 1);
	assert_int_equal(judged.count, 3);
	assert_int_equal(world.result.references_dead, 1);
	world_free(&world);
}

/* Heap and global pointers keep a block reachable without its dead stack word. */
static void test_dead_stack_word_beside_a_live_reference(void **state)
{
	struct judged judged = {.dead = ROOT + 8};
	struct world world;

	(void)state;
	furnish_stack(&world, &judged);
	world_put(&world, ROOT + 8, block(0));
	world_put(&world, ROOT + 16, block(1));
	world_put(&world, block(1), block(0));
	expect(&world, "rrdddd");
	world_free(&world);
}

/* What a global leads to is reachable, whatever stack words there are besides. */
static void test_judge_is_not_asked_about_what_roots_reach(void **state)
{
	struct judged judged = {0};
	struct world world;

	(void)state;
	world_init(&world);
	world_area(&world, ROOT, 0x1000);
	world_area(&world, ROOT + 0x2000, 0x1000);
	world_area(&world, HEAP, SIZE);
	world_block(&world, block(0), 48);
	world.ranges[0].stack = true;
	world.input.judge = judge;
	world.input.judge_ctx = &judged;
	world_put(&world, ROOT, block(0));
	world_put(&world, ROOT + 0x2000, block(0));
	expect(&world, "r");
	assert_int_equal(judged.count, 0);
	world_free(&world);
}

static void test_judge_is_asked_about_registers(void **state)
{
	uint64_t registers[] = {0, block(0)};
	struct judged judged = {0};
	struct world world;

	(void)state;
	furnish_stack(&world, &judged);
	world.registers[0] = (struct scan_bytes){registers, sizeof(registers)};
	world.input.register_count = 1;
	expect(&world, "rddddd");
	assert_int_equal(judged.count, 1);
	assert_int_equal(judged.asked[0], 8);
	world_free(&world);
}

static void test_failed_judge_fails_the_scan(void **state)
{
	struct judged judged = {.error = -ECANCELED};
	struct world world;

	(void)state;
	furnish_stack(&world, &judged);
	world_put(&world, ROOT, block(0));
	assert_int_equal(world_scan(&world), -ECANCELED);
	world_free(&world);
}

/* A block on a stack is scanned as a block. */
static void test_stack_that_holds_blocks_is_not_judged(void **state)
{
	struct judged judged = {0};
	struct world world;

	(void)state;
	furnish_stack(&world, &judged);
	world_block(&world, ROOT + 0x100, 64);
	world_put(&world, ROOT, block(0));
	world_put(&world, ROOT + 0x108, block(1));
	expect(&world, "ridddd");
	assert_int_equal(judged.calls, 0);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dead_stack_word_is_no_root),
		cmocka_unit_test(test_dead_stack_word_beside_a_live_reference),
		cmocka_unit_test(test_judge_is_not_asked_about_what_roots_reach),
		cmocka_unit_test(test_judge_is_asked_about_registers),
		cmocka_unit_test(test_failed_judge_fails_the_scan),
		cmocka_unit_test(test_stack_that_holds_blocks_is_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
