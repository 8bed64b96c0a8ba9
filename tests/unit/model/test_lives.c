/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the model keeps of a site in addition to its counts: the lifetimes of its blocks, its live
 * bytes at the peak, and its series. All of it is bounded. */
#include "tests/unit/model_fixture.h"

#include "app/session/period.h"
#include "model/site/series.h"

#define A      0x1000ULL
#define B      0x2000ULL
#define SECOND (1000 * MS)

static struct snapshot_site *site_at(struct model_fixture *fixture, size_t index)
{
	struct snapshot_process *process = (struct snapshot_process *)look(fixture);

	assert_true(index < process->site_count);
	return &process->sites[index];
}

static void test_lifetimes(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct lifetimes *lifetimes;

	(void)state;
	send_malloc(&fixture, A, 10);
	send_malloc(&fixture, B, 10);
	send_free(&fixture, A); /* after 2 ms */
	fixture.now_ns += 99 * MS;
	send_free(&fixture, B); /* after 101 ms */
	send_malloc(&fixture, A, 10);
	lifetimes = &site_at(&fixture, 0)->lifetimes;
	assert_int_equal(lifetimes->count, 2);
	assert_int_equal(lifetimes->min_ms, 2);
	assert_int_equal(lifetimes->max_ms, 101);
	assert_int_equal(lifetimes->sum_ms, 103);
	assert_int_equal(lifetimes->buckets[1], 1); /* less than 4 ms */
	assert_int_equal(lifetimes->buckets[4], 1); /* less than 256 ms */
	assert_int_equal(lifetimes->temporary, 1);  /* B: nothing was allocated after it */
	fixture_close(&fixture);
}

static void test_buckets(void **state)
{
	static const struct {
		uint32_t ms;
		int bucket;
	} rows[] = {{0, 0},  {1, 1},  {3, 1},   {4, 2},   {15, 2},        {16, 3},
		    {63, 3}, {64, 4}, {255, 4}, {256, 5}, {1u << 29, 15}, {UINT32_MAX, 15}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lifetimes lifetimes = {0};

		lifetimes_add(&lifetimes, rows[i].ms, 1);
		assert_int_equal(lifetimes.buckets[rows[i].bucket], 1);
		assert_int_equal(lifetimes.min_ms, rows[i].ms);
	}
}

/* A block is temporary if it is freed before the same thread allocates another one. Frees by other
 * threads and by realloc do not count. */
static void test_temporary(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	fixture.tid = PID + 1;
	send_malloc(&fixture, B, 10);
	fixture.tid = PID;
	send_free(&fixture, A);
	assert_int_equal(site_at(&fixture, 0)->lifetimes.temporary, 1);
	send_free(&fixture, B);
	assert_int_equal(site_at(&fixture, 0)->lifetimes.temporary, 1);
	send_malloc(&fixture, A, 10);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 20));
	send_end(&fixture, API_REALLOC, B, 20);
	assert_int_equal(site_at(&fixture, 0)->lifetimes.temporary, 1);
	assert_int_equal(site_at(&fixture, 0)->lifetimes.count, 3);
	fixture_close(&fixture);
}

static void test_ages(void **state)
{
	struct model_fixture fixture = fixture_default();
	uint64_t first;

	(void)state;
	send_malloc(&fixture, A, 10);
	first = fixture.now_ns;
	fixture.now_ns += 9 * MS;
	send_malloc(&fixture, B, 10);
	assert_int_equal(site_at(&fixture, 0)->oldest_ns, first);
	assert_int_equal(site_at(&fixture, 0)->youngest_ns, first + 10 * MS);
	assert_int_equal(site_at(&fixture, 0)->mean_ns, first + 5 * MS);
	fixture_close(&fixture);
}

/* All sites add up to the peak, whatever happens later. */
static void test_stacks_at_the_peak(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;
	uint64_t sum = 0;

	(void)state;
	fixture.caller = PROGRAM + 0x10;
	send_malloc(&fixture, A, 1000);
	fixture.caller = PROGRAM + 0x20;
	send_malloc(&fixture, B, 3000); /* the peak: 4000 */
	send_free(&fixture, B);
	send_malloc(&fixture, B, 500);
	fixture.caller = PROGRAM + 0x30;
	send_malloc(&fixture, B + 8, 700);
	section = look(&fixture);
	assert_int_equal(section->peak.bytes, 4000);
	assert_int_equal(section->totals.peak_live_bytes, 4000);
	for (size_t i = 0; i < section->site_count; i++)
		sum += section->sites[i].at_peak_bytes;
	assert_int_equal(sum, 4000);
	assert_int_equal(section->sites[0].at_peak_bytes, 1000);
	assert_int_equal(section->sites[1].at_peak_bytes, 3000);
	assert_int_equal(section->sites[2].at_peak_bytes, 0);
	fixture_close(&fixture);
}

/* The child's peak and lifetimes start at the fork. */
static void test_child_starts_its_own_lifetimes(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *child;

	(void)state;
	send_malloc(&fixture, A, 1000);
	send_malloc(&fixture, B, 10);
	send_free(&fixture, B);
	send_fork(&fixture, 200, 5, false);
	fixture_switch_to(&fixture, 200);
	send_malloc(&fixture, B, 3000);
	child = look_at(&fixture, 200);
	assert_int_equal(child->peak.bytes, 4000);
	assert_int_equal(child->sites[0].at_peak_bytes, 4000);
	assert_int_equal(child->sites[0].lifetimes.count, 0);
	fixture_close(&fixture);
}

/* One site grows by 20 KiB a second; another one frees as much as it allocates. */
static void grow(struct model_fixture *fixture, uint32_t seconds)
{
	uint64_t end = fixture->now_ns + seconds * SECOND, address = 0x100000;

	while (fixture->now_ns < end) {
		fixture->caller = PROGRAM + 0x10;
		send_malloc(fixture, address, 2048);
		fixture->caller = PROGRAM + 0x20;
		send_malloc(fixture, A, 4096);
		send_free(fixture, A);
		address += 4096;
		fixture->now_ns += 97 * MS;
	}
}

static void test_growth_of_a_site(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_site *site;

	(void)state;
	grow(&fixture, 60);
	site = site_at(&fixture, 0);
	assert_true(snapshot_is_suspect(site));
	assert_true(site->growth.slope > 18000 && site->growth.slope < 23000);
	assert_true(site->growth.ns > 58 * SECOND && site->growth.ns < 61 * SECOND);
	assert_int_equal(site->series->high[site->series->count - 1], site->live_bytes);
	assert_false(site_at(&fixture, 1)->growth.grows);
	assert_int_equal(model_reset(fixture.model, PID, fixture.now_ns), 0);
	grow(&fixture, 5);
	assert_false(site_at(&fixture, 0)->growth.ns > 6 * SECOND);
	fixture_close(&fixture);
}

/* A closed process keeps the series of sites that have grown, and drops all others. */
static void test_series_of_closed_process(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	grow(&fixture, 30);
	send_exit(&fixture);
	assert_true(site_at(&fixture, 0)->growth.grows);
	assert_non_null(site_at(&fixture, 0)->series);
	assert_null(site_at(&fixture, 1)->series);
	fixture_close(&fixture);
}

static void test_series_are_limited(void **state)
{
	struct model_fixture fixture =
		fixture_open((struct model_config){.apis = API_SET_ALL, .max_series = 3});
	size_t with = 0;

	(void)state;
	for (uint64_t turn = 0; turn < 3; turn++) {
		for (uint64_t i = 0; i < 10; i++) {
			fixture.caller = PROGRAM + 0x10 * i;
			send_malloc(&fixture, 0x10000 + (turn * 10 + i) * 64, 16);
		}
		fixture.now_ns += SECOND;
	}
	for (size_t i = 0; i < 10; i++)
		with += site_at(&fixture, i)->series != NULL;
	assert_int_equal(with, 3);
	assert_true(fixture.snapshot->tool.without_series >= 7);
	fixture_close(&fixture);
}

/* A million stacks, and a million blocks that are allocated and freed. */
static void test_memory_of_a_million_stacks_and_blocks(void **state)
{
	struct model_fixture fixture = fixture_default();
	uint64_t frames[2];
	size_t half = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000000; i++) {
		fixture.stack = i + 1;
		frames[0] = PROGRAM + i % 1000;
		frames[1] = PROGRAM + i / 1000;
		send_stack(&fixture, fixture.stack, frames, 2, 0);
		send_malloc(&fixture, 0x1000000 + i % 1000 * 64, 64);
		send_free(&fixture, 0x1000000 + i % 1000 * 64);
		if (i == 500000)
			half = model_bytes(fixture.model);
	}
	assert_true(model_bytes(fixture.model) <= half);
	assert_true(model_bytes(fixture.model) < 64u << 20);
	look(&fixture);
	assert_true(fixture.snapshot->processes[0].site_count <= 131073);
	fixture_close(&fixture);
}

/* ---- between two reports ---- */

static void test_period(void **state)
{
	struct snapshot_site old[] = {{.id = 1, .live_blocks = 2, .live_bytes = 20},
				      {.id = 2, .live_blocks = 1, .live_bytes = 5}};
	struct snapshot_site new[] = {{.id = 1, .live_blocks = 3, .live_bytes = 30},
				      {.id = 2, .live_blocks = 1, .live_bytes = 5},
				      {.id = 3, .live_blocks = 1, .live_bytes = 7}};
	struct snapshot_process before = {.pid = 1, .sites = old, .site_count = 2};
	struct snapshot_process after = {.pid = 1, .sites = new, .site_count = 3};
	struct snapshot first = {.taken_ns = 5, .processes = &before, .process_count = 1};
	struct snapshot second = {.taken_ns = 9, .processes = &after, .process_count = 1};
	struct period period = {0};

	(void)state;
	assert_int_equal(period_compare(&period, &first), 0);
	assert_int_equal(first.before_ns, 0);
	assert_int_equal(period_remember(&period, &first), 0);
	assert_int_equal(period_compare(&period, &second), 0);
	assert_int_equal(second.before_ns, 5);
	assert_int_equal(new[0].before.bytes, 20);
	assert_true(new[0].reported_change && !new[1].reported_change &&new[2].reported_change);
	assert_int_equal(new[2].before.blocks, 0);
	period_free(&period);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_temporary),
		cmocka_unit_test(test_ages),
		cmocka_unit_test(test_stacks_at_the_peak),
		cmocka_unit_test(test_child_starts_its_own_lifetimes),
		cmocka_unit_test(test_growth_of_a_site),
		cmocka_unit_test(test_series_of_closed_process),
		cmocka_unit_test(test_series_are_limited),
		cmocka_unit_test(test_memory_of_a_million_stacks_and_blocks),
		cmocka_unit_test(test_period),
	};

	return cmocka_run_group_tests_name("lives", tests, NULL, NULL);
}
