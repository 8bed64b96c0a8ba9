/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A paused model does not count allocations, and a reset model starts again. */
#include "tests/unit/model_fixture.h"

#include <errno.h>

#include "model/update/scan.h"
#include "model/process/process.h"

#define HEAP   0x1000000ULL
#define REGION 0x9000000ULL
#define CHILD  200

static void fixture_pause(struct model_fixture *fixture, bool paused)
{
	assert_int_equal(model_pause(fixture->model, fixture->pid, paused), 0);
}

static void fixture_reset(struct model_fixture *fixture)
{
	assert_int_equal(model_reset(fixture->model, fixture->pid, fixture->now_ns), 0);
}

static void assert_live(struct model_fixture *fixture, uint64_t blocks, uint64_t bytes)
{
	const struct snapshot_process *section = look(fixture);

	assert_int_equal(section->live.blocks, blocks);
	assert_int_equal(section->live.bytes, bytes);
	assert_int_equal(section->losses.unmatched_frees, 0);
	assert_int_equal(section->losses.collisions, 0);
}

static void test_paused(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, HEAP, 10);
	fixture_pause(&fixture, true);
	send_malloc(&fixture, HEAP + 100, 20);
	assert_live(&fixture, 1, 10);
	assert_true(look(&fixture)->paused);
	assert_int_equal(look(&fixture)->unaccounted, 1);
	send_free(&fixture, HEAP);
	assert_live(&fixture, 0, 0);
	assert_int_equal(look(&fixture)->totals.frees, 1);
	fixture_pause(&fixture, false);
	send_free(&fixture, HEAP + 100);
	send_malloc(&fixture, HEAP + 100, 30);
	assert_live(&fixture, 1, 30);
	assert_int_equal(look(&fixture)->totals.allocations, 2);
	assert_int_equal(look(&fixture)->unaccounted, 1);
	fixture_close(&fixture);
}

/* A counted block is gone after realloc moves it, and the new block is not counted. */
static void test_paused_realloc(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, HEAP, 10);
	send_malloc(&fixture, HEAP + 100, 10);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(HEAP, 20));
	fixture_pause(&fixture, true);
	send_end(&fixture, API_REALLOC, HEAP + 200, 20);
	assert_live(&fixture, 1, 10);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(HEAP + 100, 50));
	fixture_pause(&fixture, false);
	send_end(&fixture, API_REALLOC, HEAP + 300, 50);
	assert_live(&fixture, 1, 50);
	send_free(&fixture, HEAP + 200);
	send_free(&fixture, HEAP + 300);
	assert_live(&fixture, 0, 0);
	fixture_close(&fixture);
}

static void send_mmap(struct model_fixture *fixture, uint64_t address, uint64_t size)
{
	send_begin(fixture, API_MMAP, ARGUMENTS(0, size, 3, 0x22));
	send_end(fixture, API_MMAP, address, size);
}

static void test_paused_regions(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mmap(&fixture, REGION, 4096);
	fixture_pause(&fixture, true);
	send_mmap(&fixture, REGION + 8192, 4096);
	assert_int_equal(look(&fixture)->mappings.maps, 1);
	assert_int_equal(look(&fixture)->unaccounted, 1);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(REGION, 12288));
	send_end(&fixture, API_MUNMAP, 0, 0);
	assert_int_equal(look(&fixture)->mappings.maps, 0);
	assert_int_equal(look(&fixture)->internal.munmaps, 0);
	fixture_close(&fixture);
}

static void test_pause_is_inherited(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	fixture_pause(&fixture, true);
	send_fork(&fixture, CHILD, START_TIME + 1, false);
	assert_true(look_at(&fixture, CHILD)->paused);
	fixture_switch_to(&fixture, CHILD);
	send_process(&fixture, EVENT_EXEC, START_TIME + 1);
	assert_true(look_at(&fixture, CHILD)->paused);
	fixture_pause(&fixture, false);
	assert_false(look_at(&fixture, CHILD)->paused);
	assert_true(look_at(&fixture, PID)->paused);
	fixture_close(&fixture);
}

static void test_pause_all(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	assert_int_equal(model_pause(fixture.model, 4711, true), -ESRCH);
	assert_int_equal(model_reset(fixture.model, 4711, 0), -ESRCH);
	model_pause_all(fixture.model, true);
	fixture_switch_to(&fixture, CHILD);
	send_process(&fixture, EVENT_PROCESS, START_TIME);
	assert_true(look_at(&fixture, PID)->paused);
	assert_true(look_at(&fixture, CHILD)->paused);
	model_pause_all(fixture.model, false);
	assert_false(look_at(&fixture, PID)->paused);
	assert_false(look_at(&fixture, CHILD)->paused);
	fixture_close(&fixture);
}

static void test_reset(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	(void)state;
	send_malloc(&fixture, HEAP, 10);
	send_malloc(&fixture, HEAP + 100, 10);
	send_mmap(&fixture, REGION, 4096);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(HEAP + 100, 20));
	fixture_reset(&fixture);
	section = look(&fixture);
	assert_int_equal(section->site_count, 0);
	assert_int_equal(section->totals.allocations, 0);
	assert_int_equal(section->totals.peak_live_bytes, 0);
	assert_int_equal(section->mappings.maps, 0);
	assert_int_equal(section->traced_since_ns, fixture.now_ns);
	send_end(&fixture, API_REALLOC, HEAP + 200, 20);
	send_free(&fixture, HEAP);
	assert_live(&fixture, 1, 20);
	assert_int_equal(look(&fixture)->totals.frees, 0);
	assert_int_equal(look(&fixture)->sites[0].id, 0);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(REGION, 4096));
	send_end(&fixture, API_MUNMAP, 0, 0);
	assert_int_equal(look(&fixture)->internal.munmaps, 0);
	fixture_close(&fixture);
}

/* Resetting a parent does not change its child, which shares parts of its model. */
static void test_reset_of_a_parent(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, HEAP, 10);
	send_fork(&fixture, CHILD, START_TIME + 1, false);
	fixture_reset(&fixture);
	assert_int_equal(look_at(&fixture, PID)->live.blocks, 0);
	assert_int_equal(look_at(&fixture, CHILD)->inherited.blocks, 1);
	send_malloc(&fixture, HEAP + 100, 7);
	assert_int_equal(look_at(&fixture, PID)->live.bytes, 7);
	fixture_switch_to(&fixture, CHILD);
	send_free(&fixture, HEAP);
	assert_int_equal(look_at(&fixture, CHILD)->live.blocks, 0);
	assert_int_equal(look_at(&fixture, PID)->live.bytes, 7);
	fixture_close(&fixture);
}

static int count_block(void *ctx, uint64_t address, uint64_t size)
{
	(void)address;
	(void)size;
	++*(int *)ctx;
	return 0;
}

/* A scan also includes blocks without a site, because pointers lead through them. */
static void test_scan_includes_uncounted_blocks(void **state)
{
	struct model_fixture fixture = fixture_default();
	struct scan_update book = {0};
	struct process *process;
	int blocks = 0;

	(void)state;
	send_malloc(&fixture, HEAP, 10);
	fixture_reset(&fixture);
	fixture_pause(&fixture, true);
	send_malloc(&fixture, HEAP + 100, 10);
	process = model_process(fixture.model, fixture.pid);
	assert_int_equal(scan_update_blocks(process, count_block, &blocks), 0);
	assert_int_equal(blocks, 2);
	assert_int_equal(scan_update_open(&book, process), 0);
	scan_update_add(&book, HEAP, LEAK_DEFINITE);
	scan_update_add(&book, HEAP + 100, LEAK_DEFINITE);
	scan_update_commit(&book, process);
	assert_true(look(&fixture)->scan.done);
	assert_int_equal(look(&fixture)->scan.classes[LEAK_DEFINITE].blocks, 0);
	fixture_reset(&fixture);
	assert_false(look(&fixture)->scan.done);
	fixture_close(&fixture);
}

/* With --sanity, freeing a block from before the reset is not an error, but freeing it twice is. */
static void test_sanity(void **state)
{
	struct model_fixture fixture =
		fixture_open((struct model_config){.apis = API_SET_ALL, .sanity = true});

	(void)state;
	send_malloc(&fixture, HEAP, 10);
	fixture_reset(&fixture);
	send_free(&fixture, HEAP);
	assert_int_equal(look(&fixture)->sanity.errors, 0);
	send_free(&fixture, HEAP);
	assert_int_equal(look(&fixture)->sanity.errors, 1);
	fixture_reset(&fixture);
	assert_int_equal(look(&fixture)->sanity.errors, 0);
	fixture_close(&fixture);
}

/* Sites have the same ID in every look, even if others are not in use yet. */
static void test_site_ids_are_stable(void **state)
{
	struct model_fixture fixture = fixture_default();
	static const uint64_t frames[] = {PROGRAM + 0x20, PROGRAM + 0x30};
	uint32_t id;

	(void)state;
	send_malloc(&fixture, HEAP, 10);
	send_free(&fixture, HEAP);
	send_stack(&fixture, 7, frames, 2, 0);
	fixture.stack = 7;
	send_malloc(&fixture, HEAP + 100, 10);
	send_fork(&fixture, CHILD, START_TIME + 1, false);
	fixture_switch_to(&fixture, CHILD);
	assert_int_equal(look_at(&fixture, CHILD)->site_count, 1);
	id = look_at(&fixture, CHILD)->sites[0].id;
	fixture.stack = 0;
	send_malloc(&fixture, HEAP, 10);
	assert_int_equal(look_at(&fixture, CHILD)->site_count, 2);
	assert_int_equal(look_at(&fixture, CHILD)->sites[1].id, id);
	assert_int_equal(look_at(&fixture, CHILD)->sites[1].live_bytes, 10);
	fixture_close(&fixture);
}

#define SLOTS 64

/* Correct behaviour of the program is never reported as an error. */
static void test_random_pauses_and_resets(void **state)
{
	struct model_fixture fixture = fixture_default();
	bool live[SLOTS] = {false}, paused = false;

	(void)state;
	srandom(7);
	for (int i = 0; i < 20000; i++) {
		uint64_t slot = (uint64_t)random() % SLOTS;
		long dice = random() % 100;

		if (dice == 0)
			fixture_reset(&fixture);
		if (dice == 1)
			fixture_pause(&fixture, paused = !paused);
		if (live[slot])
			send_free(&fixture, HEAP + slot * 64);
		else
			send_malloc(&fixture, HEAP + slot * 64, slot);
		live[slot] = !live[slot];
		if (dice < 4)
			assert_int_equal(look(&fixture)->losses.unmatched_frees, 0);
	}
	assert_int_equal(look(&fixture)->losses.collisions, 0);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_paused_realloc),
		cmocka_unit_test(test_paused_regions),
		cmocka_unit_test(test_pause_is_inherited),
		cmocka_unit_test(test_pause_all),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_reset_of_a_parent),
		cmocka_unit_test(test_scan_includes_uncounted_blocks),
		cmocka_unit_test(test_sanity),
		cmocka_unit_test(test_site_ids_are_stable),
		cmocka_unit_test(test_random_pauses_and_resets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
