/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits keep many processes or sites from filling the memory; and the cost of a fork. */
#include <malloc.h>

#include "model/process/process.h"

#include "tests/unit/model_fixture.h"

#define A     0x1000ULL
#define B     0x2000ULL
#define C     0x3000ULL
#define CHILD (PID + 50)
#define OTHER (PID + 60)

/* ---- bounds ---- */

#define MAX_SITES 16

static void test_site_cap(void **state)
{
	struct model_fixture fixture = fixture_open((struct model_config){
		.apis = API_SET_ALL, .wrappers = true, .max_sites = MAX_SITES});
	const struct snapshot_process *section;
	uint64_t others = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t frame = PROGRAM + 0x100 + i;

		send_stack(&fixture, i + 1, &frame, 1, 0);
		fixture.stack = i + 1;
		fixture.caller = i & 1 ? frame : OPERATOR_NEW + 4;
		send_malloc(&fixture, A + i * 16, 1);
	}
	send_call(&fixture, EVENT_ALLOC, API_MALLOC, EVENT_FLAG_FAILED, 0, 10);
	section = look(&fixture);
	assert_int_equal(section->totals.allocations, 100);
	assert_int_equal(section->site_count, MAX_SITES + 2);
	assert_int_equal(section->other_calls, 100 - MAX_SITES + 1);
	assert_int_equal(section->losses.stacks, 0);
	for (size_t i = 0; i < section->site_count; i++) {
		const struct snapshot_site *site = &section->sites[i];

		assert_int_equal(section->stacks[site->stack].frame_count, !site->other);
		others += site->other;
		if (site->other)
			assert_int_equal(site->allocations, (100 - MAX_SITES) / 2);
	}
	assert_int_equal(others, 2); /* malloc's and operator new's */
	for (uint64_t i = 0; i < 100; i++)
		send_free(&fixture, A + i * 16);
	assert_int_equal(look(&fixture)->live.blocks, 0);
	fixture_close(&fixture);
}

/* Many APIs from few stacks: the stacks fit, the sites do not. */
static void test_site_cap_by_api(void **state)
{
	static const enum api apis[] = {API_MALLOC, API_CALLOC, API_ALIGNED_ALLOC};
	struct model_fixture fixture =
		fixture_open((struct model_config){.apis = API_SET_ALL, .max_sites = MAX_SITES});
	const struct snapshot_process *section;

	(void)state;
	for (uint64_t i = 0; i < 3 * (MAX_SITES - 2); i++) {
		fixture.caller = PROGRAM + 0x100 + i / 3;
		send_call(&fixture, EVENT_ALLOC, apis[i % 3], 0, A + i * 16, 1);
	}
	section = look(&fixture);
	assert_int_equal(section->site_count, MAX_SITES + 3);
	assert_int_equal(section->other_calls, 3 * (MAX_SITES - 2) - MAX_SITES);
	fixture_close(&fixture);
}

static struct snapshot_process sum_of(const struct snapshot *snapshot)
{
	struct snapshot_others others = snapshot->others;

	for (size_t i = 0; i < snapshot->process_count; i++)
		snapshot_others_add(&others, &snapshot->processes[i]);
	return others.sums;
}

/* Each of many children allocates, frees, makes an unmatched free and exits. The sums include all
 * of them. */
static void test_closed_processes_are_limited(void **state)
{
	enum { CHILDREN = 5000, KEPT = 20 };
	struct model_fixture fixture =
		fixture_open((struct model_config){.apis = API_SET_ALL, .max_closed = KEPT});
	struct snapshot_process sums;

	(void)state;
	send_malloc(&fixture, A, 10);
	for (uint32_t i = 1; i <= CHILDREN; i++) {
		fixture_switch_to(&fixture, PID);
		send_fork(&fixture, PID + i, i, i % 5 == 0);
		fixture_switch_to(&fixture, PID + i);
		if (i % 2)
			send_process(&fixture, EVENT_EXEC, i);
		send_malloc(&fixture, B, i);
		send_malloc(&fixture, C, 1);
		send_free(&fixture, C);
		send_free(&fixture, C);
		if (i % 5 == 0 && i % 2 == 0)
			send_free(&fixture, B); /* the parent's */
		send_exit(&fixture);
	}
	fixture_snapshot(&fixture);
	assert_int_equal(fixture.snapshot->process_count, 1 + KEPT);
	sums = sum_of(fixture.snapshot);
	assert_int_equal(sums.totals.allocations, 1 + 2 * CHILDREN);
	assert_int_equal(sums.losses.unmatched_frees, CHILDREN);
	assert_int_equal(sums.totals.allocations + sums.inherited.blocks,
			 sums.totals.frees + sums.live.blocks);
	assert_int_equal(sums.totals.bytes_allocated + sums.inherited.bytes,
			 sums.totals.bytes_freed + sums.live.bytes);
	/* The children with most live bytes are kept, in their original order. */
	for (uint32_t i = 1; i < KEPT; i++)
		assert_true(fixture.snapshot->processes[i].pid <
			    fixture.snapshot->processes[i + 1].pid);
	assert_true(fixture.snapshot->processes[1].pid > PID + CHILDREN - 2 * KEPT);
	assert_int_equal(fixture.snapshot->dropped, 0);
	/* A running process is still found. */
	fixture_switch_to(&fixture, PID);
	send_free(&fixture, A);
	assert_int_equal(look_at(&fixture, PID)->live.bytes, 0);
	fixture_close(&fixture);
}

static void test_sites_of_closed_processes_are_limited(void **state)
{
	struct model_fixture fixture =
		fixture_open((struct model_config){.apis = API_SET_ALL, .max_closed_sites = 25});

	(void)state;
	for (uint32_t i = 1; i <= 20; i++) {
		fixture.pid = PID + i;
		send_process(&fixture, EVENT_PROCESS, i);
		for (uint32_t site = 0; site < 10; site++) {
			fixture.caller = PROGRAM + site;
			send_malloc(&fixture, A + (uint64_t)site * 16, 1);
		}
		send_exit(&fixture);
	}
	fixture_snapshot(&fixture);
	assert_int_equal(fixture.snapshot->process_count, 1 + 2);
	assert_int_equal(fixture.snapshot->others.sections, 18);
	assert_int_equal(fixture.snapshot->others.processes, 18);
	assert_int_equal(fixture.snapshot->others.sums.live.blocks, 180);
	fixture_close(&fixture);
}

/* ---- what a fork costs ---- */

/* Bytes in use according to malloc; 0 if a sanitizer's malloc does not report them. */
static size_t memory_used(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* A hundred children of a parent with 100,000 blocks at 2,000 sites; each child changes some. */
static void test_memory_of_forks(void **state)
{
	enum { BLOCKS = 100000, SITES = 2000, CHILDREN = 100 };
	struct model_fixture fixture = fixture_default();
	size_t before = memory_used(), parent, children;

	(void)state;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		fixture.caller = PROGRAM + i % SITES;
		send_malloc(&fixture, A + i * 16, 16);
	}
	parent = memory_used() - before;
	for (uint32_t child = CHILD; child < CHILD + CHILDREN; child++) {
		send_fork(&fixture, child, START_TIME, false);
		fixture_switch_to(&fixture, child);
		send_free(&fixture, A);
		fixture_switch_to(&fixture, PID);
		send_free(&fixture, A + child * 16ULL);
	}
	children = memory_used() - before - parent;
	assert_true(children <= parent * CHILDREN / 20);
	for (uint32_t child = CHILD; child < CHILD + CHILDREN; child++) {
		fixture_switch_to(&fixture, child);
		assert_int_equal(model_process(fixture.model, child)->live_blocks,
				 BLOCKS - 1 - (child - CHILD));
		send_free(&fixture, A + child * 16ULL);
		send_exit(&fixture);
	}
	fixture_snapshot(&fixture);
	fixture_close(&fixture);
}

/* If a child did little, closing it does not search its inherited blocks for the oldest one. */
static void test_closing_a_short_child_is_cheap(void **state)
{
	struct model_fixture fixture = fixture_default();
	uint64_t first = fixture.now_ns + MS;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		send_malloc(&fixture, A + i * 16, 16);
	send_free(&fixture, A);
	send_fork(&fixture, CHILD, START_TIME, false);
	send_fork(&fixture, OTHER, START_TIME, false);
	fixture_switch_to(&fixture, CHILD);
	send_free(&fixture, A + 16);
	assert_int_equal(look_at(&fixture, CHILD)->sites[0].oldest_ns, first + 2 * MS);
	send_exit(&fixture);
	assert_int_equal(look_at(&fixture, CHILD)->sites[0].oldest_ns, first);
	fixture_switch_to(&fixture, OTHER);
	for (uint64_t i = 1; i < 1000; i++)
		send_free(&fixture, A + i * 16);
	send_exit(&fixture);
	assert_int_equal(look_at(&fixture, OTHER)->sites[0].oldest_ns, first + 1000 * MS);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_site_cap),
		cmocka_unit_test(test_site_cap_by_api),
		cmocka_unit_test(test_closed_processes_are_limited),
		cmocka_unit_test(test_sites_of_closed_processes_are_limited),
		cmocka_unit_test(test_memory_of_forks),
		cmocka_unit_test(test_closing_a_short_child_is_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
