/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits keep many processes or sites from filling the memory; and the cost of a fork. */
#include <malloc.h>

#include "model/process/process.h"

#include "tests/unit/books.h"

#define A     0x1000ULL
#define B     0x2000ULL
#define C     0x3000ULL
#define CHILD (PID + 50)
#define OTHER (PID + 60)

/* ---- bounds ---- */

#define MAX_SITES 16

static void test_site_cap(void **state)
{
	struct books books = books_open((struct model_config){
		.apis = API_SET_ALL, .wrappers = true, .max_sites = MAX_SITES});
	const struct snapshot_process *section;
	uint64_t others = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t frame = PROGRAM + 0x100 + i;

		tell_stack(&books, i + 1, &frame, 1, 0);
		books.stack = i + 1;
		books.caller = i & 1 ? frame : OPERATOR_NEW + 4;
		tell_malloc(&books, A + i * 16, 1);
	}
	tell_call(&books, EVENT_ALLOC, API_MALLOC, EVENT_FLAG_FAILED, 0, 10);
	section = look(&books);
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
		tell_free(&books, A + i * 16);
	assert_int_equal(look(&books)->live.blocks, 0);
	books_close(&books);
}

/* Many APIs from few stacks: the stacks fit, the sites do not. */
static void test_site_cap_by_api(void **state)
{
	static const enum api apis[] = {API_MALLOC, API_CALLOC, API_ALIGNED_ALLOC};
	struct books books =
		books_open((struct model_config){.apis = API_SET_ALL, .max_sites = MAX_SITES});
	const struct snapshot_process *section;

	(void)state;
	for (uint64_t i = 0; i < 3 * (MAX_SITES - 2); i++) {
		books.caller = PROGRAM + 0x100 + i / 3;
		tell_call(&books, EVENT_ALLOC, apis[i % 3], 0, A + i * 16, 1);
	}
	section = look(&books);
	assert_int_equal(section->site_count, MAX_SITES + 3);
	assert_int_equal(section->other_calls, 3 * (MAX_SITES - 2) - MAX_SITES);
	books_close(&books);
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
	struct books books =
		books_open((struct model_config){.apis = API_SET_ALL, .max_closed = KEPT});
	struct snapshot_process sums;

	(void)state;
	tell_malloc(&books, A, 10);
	for (uint32_t i = 1; i <= CHILDREN; i++) {
		books_turn(&books, PID);
		tell_fork(&books, PID + i, i, i % 5 == 0);
		books_turn(&books, PID + i);
		if (i % 2)
			tell_process(&books, EVENT_EXEC, i);
		tell_malloc(&books, B, i);
		tell_malloc(&books, C, 1);
		tell_free(&books, C);
		tell_free(&books, C);
		if (i % 5 == 0 && i % 2 == 0)
			tell_free(&books, B); /* the parent's */
		tell_exit(&books);
	}
	books_look(&books);
	assert_int_equal(books.snapshot->process_count, 1 + KEPT);
	sums = sum_of(books.snapshot);
	assert_int_equal(sums.totals.allocations, 1 + 2 * CHILDREN);
	assert_int_equal(sums.losses.unmatched_frees, CHILDREN);
	assert_int_equal(sums.totals.allocations + sums.inherited.blocks,
			 sums.totals.frees + sums.live.blocks);
	assert_int_equal(sums.totals.bytes_allocated + sums.inherited.bytes,
			 sums.totals.bytes_freed + sums.live.bytes);
	/* The children with most live bytes are kept, in their original order. */
	for (uint32_t i = 1; i < KEPT; i++)
		assert_true(books.snapshot->processes[i].pid <
			    books.snapshot->processes[i + 1].pid);
	assert_true(books.snapshot->processes[1].pid > PID + CHILDREN - 2 * KEPT);
	assert_int_equal(books.snapshot->dropped, 0);
	/* A running process is still found. */
	books_turn(&books, PID);
	tell_free(&books, A);
	assert_int_equal(look_at(&books, PID)->live.bytes, 0);
	books_close(&books);
}

static void test_sites_of_closed_processes_are_limited(void **state)
{
	struct books books =
		books_open((struct model_config){.apis = API_SET_ALL, .max_closed_sites = 25});

	(void)state;
	for (uint32_t i = 1; i <= 20; i++) {
		books.pid = PID + i;
		tell_process(&books, EVENT_PROCESS, i);
		for (uint32_t site = 0; site < 10; site++) {
			books.caller = PROGRAM + site;
			tell_malloc(&books, A + (uint64_t)site * 16, 1);
		}
		tell_exit(&books);
	}
	books_look(&books);
	assert_int_equal(books.snapshot->process_count, 1 + 2);
	assert_int_equal(books.snapshot->others.sections, 18);
	assert_int_equal(books.snapshot->others.processes, 18);
	assert_int_equal(books.snapshot->others.sums.live.blocks, 180);
	books_close(&books);
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
	struct books books = books_default();
	size_t before = memory_used(), parent, children;

	(void)state;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		books.caller = PROGRAM + i % SITES;
		tell_malloc(&books, A + i * 16, 16);
	}
	parent = memory_used() - before;
	for (uint32_t child = CHILD; child < CHILD + CHILDREN; child++) {
		tell_fork(&books, child, START_TIME, false);
		books_turn(&books, child);
		tell_free(&books, A);
		books_turn(&books, PID);
		tell_free(&books, A + child * 16ULL);
	}
	children = memory_used() - before - parent;
	assert_true(children <= parent * CHILDREN / 20);
	for (uint32_t child = CHILD; child < CHILD + CHILDREN; child++) {
		books_turn(&books, child);
		assert_int_equal(model_process(books.model, child)->live_blocks,
				 BLOCKS - 1 - (child - CHILD));
		tell_free(&books, A + child * 16ULL);
		tell_exit(&books);
	}
	books_look(&books);
	books_close(&books);
}

/* If a child did little, closing it does not search its inherited blocks for the oldest one. */
static void test_closing_a_short_child_is_cheap(void **state)
{
	struct books books = books_default();
	uint64_t first = books.now_ns + MS;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		tell_malloc(&books, A + i * 16, 16);
	tell_free(&books, A);
	tell_fork(&books, CHILD, START_TIME, false);
	tell_fork(&books, OTHER, START_TIME, false);
	books_turn(&books, CHILD);
	tell_free(&books, A + 16);
	assert_int_equal(look_at(&books, CHILD)->sites[0].oldest_ns, first + 2 * MS);
	tell_exit(&books);
	assert_int_equal(look_at(&books, CHILD)->sites[0].oldest_ns, first);
	books_turn(&books, OTHER);
	for (uint64_t i = 1; i < 1000; i++)
		tell_free(&books, A + i * 16);
	tell_exit(&books);
	assert_int_equal(look_at(&books, OTHER)->sites[0].oldest_ns, first + 1000 * MS);
	books_close(&books);
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
