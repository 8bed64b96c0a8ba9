/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which sites are suspects, in which order, and with which reasons. */
#include "tests/golden/leaks.h"
#include "tests/unit/golden.h"

#include <locale.h>

#include "model/snapshot/suspect.h"
#include "report/common/suspect_words.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MINUTE       (60 * SECOND)
#define MIB          1048576.0

static const struct growth fast = {.grows = true,
				   .slope = 1.2 * MIB / 60,
				   .slope_low = 1.1 * MIB / 60,
				   .slope_high = 1.3 * MIB / 60,
				   .certainty = 0.9999999,
				   .ns = 12 * MINUTE,
				   .bytes = 15099494};
static const struct growth slow = {.grows = true,
				   .slope = 300.0 / 60,
				   .slope_low = 200.0 / 60,
				   .slope_high = 310.0 / 60,
				   .certainty = 0.999,
				   .ns = 90 * MINUTE,
				   .bytes = 27000};
static const struct series fast_series = {.count = 3,
					  .until = {1000, 2000, 2880},
					  .low = {0, 4000000, 9000000},
					  .high = {5000000, 10000000, 15099494}};

/* The leaky process is among them: two sites grow. */
static struct snapshot_site sites[4];
static struct snapshot_process process;
static struct snapshot snapshot;

static void make(void)
{
	process = lost_snapshot.processes[0];
	memcpy(sites, process.sites, sizeof(sites));
	assert_int_equal(process.site_count, COUNT(sites));
	sites[0].growth = slow;
	sites[1].growth = fast;
	sites[1].frees = 0;
	sites[1].allocations = sites[1].live_blocks;
	sites[1].series = &fast_series;
	sites[1].lifetimes.count = 0;
	sites[2].lifetimes = (struct lifetimes){
		.sum_ms = 30, .count = 3, .temporary = 1, .max_ms = 20, .buckets = {1, 0, 1, 1}};
	process.sites = sites;
	process.peak.bytes = 41900;
	process.peak.ns = 101 * SECOND;
	snapshot = lost_snapshot;
	snapshot.processes = &process;
	snapshot.process_count = 1;
}

static const struct golden goldens[] = {
	{"suspects.txt", &format_text, &snapshot, {.top = 1, .utf8 = true, .width = 80}},
	{"suspects-terminal.txt",
	 &format_text,
	 &snapshot,
	 {.top = 1, .worst_last = true, .ids = true, .width = 60}},
	{"suspects.json", &format_json, &snapshot, {.width = 80}},
};

static void test_golden(void **state)
{
	(void)state;
	make();
	for (size_t i = 0; i < COUNT(goldens); i++)
		check_golden(&goldens[i]);
	for (size_t i = 0; i < 2; i++) {
		char *text = render(goldens[i].format, goldens[i].snapshot, &goldens[i].options);

		check_lines(text, &goldens[i].options);
		check_bytes(text, &goldens[i].options);
		free(text);
	}
}

static void test_sites_that_are_no_suspects(void **state)
{
	struct snapshot_site site = {.growth = fast, .live_blocks = 1};

	(void)state;
	assert_true(snapshot_is_suspect(&site));
	site.growth.ns = SUSPECT_LEAST_NS - 1;
	assert_false(snapshot_is_suspect(&site));
	site.growth = fast;
	site.leaks.suppressed.blocks = 1;
	assert_false(snapshot_is_suspect(&site));
	site.leaks.suppressed.blocks = 0;
	site.live_blocks = 0;
	assert_false(snapshot_is_suspect(&site));
	site = (struct snapshot_site){.live_blocks = 1, .live_bytes = 1 << 30};
	assert_false(snapshot_is_suspect(&site));
}

/* With the same rate, sites are ordered: leaked, never freed, freed, all reachable. */
static void test_order(void **state)
{
	struct snapshot_site list[] = {
		{.id = 0, .growth = fast, .allocations = 100, .live_blocks = 10, .live_bytes = 100},
		{.id = 1, .growth = fast, .allocations = 10, .live_blocks = 10, .live_bytes = 100},
		{.id = 2, .growth = fast, .allocations = 10, .live_blocks = 10, .live_bytes = 100},
		{.id = 3, .growth = slow, .allocations = 10, .live_blocks = 10, .live_bytes = 100},
		{.id = 4},
	};
	struct snapshot_process fixture = {.sites = list, .site_count = 5, .scan.done = true};
	const struct snapshot_site *found[3];

	(void)state;
	list[2].leaks.classes[LEAK_DEFINITE] = (struct snapshot_sum){9, 90};
	assert_int_equal(suspects_find(&fixture, found, 3), 4);
	assert_int_equal(found[0]->id, 2);
	assert_int_equal(found[1]->id, 1);
	assert_int_equal(found[2]->id, 0);
	list[1].leaks.classes[LEAK_REACHABLE] = (struct snapshot_sum){10, 100};
	list[2].leaks.classes[LEAK_DEFINITE] = (struct snapshot_sum){0, 0};
	assert_int_equal(suspects_find(&fixture, found, 2), 4);
	assert_int_equal(found[0]->id, 2);
	assert_int_equal(found[1]->id, 1);
	assert_int_equal(suspects_find(&fixture, found, 0), 4);
}

static void test_reasons(void **state)
{
	static const struct {
		double slope;
		const char *words;
	} rates[] = {{5 * MIB, "5.0 MiB/s"},
		     {MIB / 60, "1.0 MiB/min"},
		     {2048.0 / 60, "120.0 KiB/h"},
		     {100.0 / 3600, "2.3 KiB/day"}};
	char text[SUSPECT_SIZE], rate[RATE_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(rates); i++)
		assert_string_equal(growth_rate(rates[i].slope, rate), rates[i].words);
	make();
	process.scan.done = false;
	assert_string_equal(suspect_reasons(&process, &sites[1], true, text),
			    "grows 1.2 MiB/min for 12m 0s (very certain); none of its 3 blocks was "
			    "ever freed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_sites_that_are_no_suspects),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_reasons),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests_name("suspect", tests, NULL, NULL);
}
