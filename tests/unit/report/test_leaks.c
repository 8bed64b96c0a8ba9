/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of leaks: golden files, sums, order and texts. */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "model/snapshot/resolve.h"
#include "model/suppress/parse.h"
#include "model/suppress/suppress.h"
#include "tests/golden/leaks.h"
#include "tests/unit/golden.h"

static const struct golden goldens[] = {
	{"lost.txt", &format_text, &lost_snapshot, {.top = 20, .utf8 = true, .width = 80}},
	{"lost-verbose.txt",
	 &format_text,
	 &lost_snapshot,
	 {.verbose = true, .utf8 = true, .width = 80}},
	{"lost-listed.txt",
	 &format_text,
	 &lost_snapshot,
	 {.listed = LEAK_BIT(LEAK_POSSIBLE), .utf8 = true, .width = 80}},
	{"lost-ascii.txt", &format_text, &lost_snapshot, {.top = 1, .verbose = true, .width = 60}},
	{"lost-terminal.txt",
	 &format_text,
	 &lost_snapshot,
	 {.top = 20,
	  .worst_last = true,
	  .verbose = true,
	  .color = true,
	  .utf8 = true,
	  .width = 80}},
	{"lost.json", &format_json, &lost_snapshot, {.width = 80}},
	{"clean.txt", &format_text, &clean_snapshot, {.top = 20, .utf8 = true, .width = 80}},
	{"clean.json", &format_json, &clean_snapshot, {.width = 80}},
};

static void test_golden(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(goldens); i++)
		check_golden(&goldens[i]);
}

static void test_text_properties(void **state)
{
	static const uint32_t widths[] = {60, 72, 80, 132, 250};
	static const struct snapshot *const snapshots[] = {&lost_snapshot, &clean_snapshot};

	(void)state;
	for (size_t i = 0; i < COUNT(snapshots) * COUNT(widths) * 32; i++) {
		struct format_options options = {
			.top = i & 1,
			.worst_last = i & 2,
			.color = i & 4,
			.utf8 = i & 8,
			.verbose = i & 16,
			.width = widths[i / 32 % COUNT(widths)],
			.sort = i % SORT_COUNT,
		};
		char *text = render(&format_text, snapshots[i / 32 / COUNT(widths)], &options);

		check_lines(text, &options);
		check_bytes(text, &options);
		free(text);
	}
}

/* ---- one process, changed by each test ---- */

struct world {
	struct snapshot_site sites[4];
	struct snapshot_stack stacks[4];
	struct snapshot_process process;
	struct snapshot snapshot;
	struct format_options options;
};

static void world_make(struct world *world)
{
	memcpy(world->sites, lost_sites, sizeof(lost_sites));
	memcpy(world->stacks, lost_stacks, sizeof(lost_stacks));
	world->process = lost[0];
	world->process.sites = world->sites;
	world->process.stacks = world->stacks;
	world->snapshot = lost_snapshot;
	world->snapshot.processes = &world->process;
	world->options = (struct format_options){.width = 100};
}

static void assert_text(const struct world *world, const char *expected)
{
	char *text = render(&format_text, &world->snapshot, &world->options);

	if (!strstr(text, expected))
		fail_msg("no '%s' in\n%s", expected, text);
	free(text);
}

static void assert_no_text(const struct world *world, const char *unexpected)
{
	char *text = render(&format_text, &world->snapshot, &world->options);

	if (strstr(text, unexpected))
		fail_msg("'%s' in\n%s", unexpected, text);
	free(text);
}

/* ---- texts ---- */

static void test_summary(void **state)
{
	struct world world;

	(void)state;
	world_make(&world);
	assert_text(&world,
		    "\nSUMMARY: lost (94): 3 leaks, 70 B definitely leaked at 2 sites, 40 B "
		    "indirectly, 748 B possibly, 100 B suppressed; 208 blocks, 40.7 KiB still live "
		    "at 4 sites; worst leak: 104 B in 3 blocks from request_copy (lost.c:51)\n");
	world.process.scan = (struct snapshot_scan){
		.done = true, .classes[LEAK_POSSIBLE] = {1, 8}, .classes[LEAK_UNKNOWN] = {1, 9}};
	world.process.site_count = 1;
	assert_text(&world,
		    ": no definite leaks, 8 B possibly leaked, 9 B perhaps leaked; 208 blocks, ");
	assert_text(&world, "; worst: 40.4 KiB in 203 blocks from cache_open");
	world.process.scan.done = false;
	assert_text(&world, "\nSUMMARY: lost (94): 208 blocks, 40.7 KiB still live at 1 site; wor");
}

static void test_no_leaks_only_among_traced_calls(void **state)
{
	struct snapshot_losses *losses;
	struct world world;

	(void)state;
	world_make(&world);
	losses = &world.process.losses;
	*losses = (struct snapshot_losses){0};
	world.process.scan = (struct snapshot_scan){.done = true};
	assert_text(&world, "\nSUMMARY: lost (94): no leaks; 208 blocks");
	losses->gap_ns = 1;
	assert_text(&world, ": no leaks among the calls that were traced; 208 blocks");
	*losses = (struct snapshot_losses){.events = 1};
	world.process.scan.classes[LEAK_POSSIBLE] = (struct snapshot_sum){1, 8};
	assert_text(&world, ": no definite leaks among the calls that were traced, 8 B possibly");
}

/* Without a scan, the report does not mention leaks, except for the reason if there is one. */
static void test_not_scanned(void **state)
{
	struct world world;

	(void)state;
	world_make(&world);
	world.process.scan = (struct snapshot_scan){.done = false};
	for (size_t i = 0; i < COUNT(world.sites); i++)
		memset(&world.sites[i].leaks, 0, sizeof(world.sites[i].leaks));
	assert_no_text(&world, "Leaks");
	assert_no_text(&world, "definite");
	assert_no_text(&world, "scan");
	assert_text(&world, "no events dropped");
	assert_text(&world, "Live memory is not necessarily leaked. Use -a to find leaks.");
	world.process.scan.reason = "no memory";
	assert_text(&world, "\n  ! not scanned for leaks: no memory\n");
}

static void test_scan_mode_is_described(void **state)
{
	struct world world;
	struct snapshot_scan *scan = &world.process.scan;

	(void)state;
	world_make(&world);
	assert_text(&world, "\n  scanned 12.3 MiB in 4 ms (process paused for 4 ms)\n");
	assert_no_text(&world, "of the heap"); /* every block is known */
	scan->live = true;
	scan->pause_ns = 0;
	scan->taken_ns -= 60 * SECOND;
	world.process.from_start = false;
	assert_text(&world, "\n  scanned 12.3 MiB in 4 ms while it ran (process paused for 0 us), "
			    "1m 0s before this report\n");
	assert_text(
		&world,
		"\n  4.0 KiB of the heap was allocated before tracing started or is free; blocks");
	scan->passes = 2;
	assert_text(&world, "in 4 ms while it ran, in 2 passes that agree (process paused for 0");
	scan->bytes_unreadable = 12;
	assert_text(&world, "! 12 B could not be read: blocks that only this memory may");
}

static void test_example(void **state)
{
	struct world world;
	struct snapshot_example *example = &world.sites[1].leaks.examples[LEAK_DEFINITE];

	(void)state;
	world_make(&world);
	assert_no_text(&world, "for example");
	world.options.verbose = true;
	assert_text(&world, "for example 32 B at 0x5555000072a0, definite, resident\n"
			    "          47 45 54 20 2f 69 6e 64  65 78 2e 68 74 6d 6c 00"
			    "  GET /index.html.\n");
	assert_text(&world, "          61 6e 6e 09 c3 00  ann...\n");
	assert_text(&world, "example 40 B at 0x555500007300, indirect, content not read\n");
	assert_text(&world, "example 136 B at 0x5555000073f0, possible, swapped out\n");
	example->read = UINT32_MAX;
	assert_text(&world, "00  GET /index.html.\n");
	example->read = 0;
	example->resident = 12;
	assert_text(&world, "72a0, definite, 12 B of it resident\n");
	example->swapped = 20;
	assert_text(&world, "72a0, definite, 12 B of it resident, 20 B swapped out\n");
	example->resident = example->swapped = 0;
	assert_text(&world, "72a0, definite, not resident: never written\n");
	example->size = 0;
	assert_text(&world, "for example 0 B at 0x5555000072a0, definite\n");
}

/* ---- order ---- */

/* The texts follow each other in the report. */
static void assert_order(const struct world *world, const char *const *texts, size_t count)
{
	char *report = render(&format_text, &world->snapshot, &world->options);
	const char *at = report;

	for (size_t i = 0; i < count; i++) {
		at = strstr(at, texts[i]);
		if (!at)
			fail_msg("no '%s' at its place in\n%s", texts[i], report);
	}
	free(report);
}

/* A site with definite leaks comes before sites with only indirect ones, however large these
 * are. */
static void test_order(void **state)
{
	static const char *const first[] = {"\nLeaks, 3 sites, sorted by leaked bytes\n",
					    "  1.  ",
					    "> request_copy",
					    "> name_of",
					    "> cache_open",
					    "\nHeap, ",
					    "\nSUMMARY: "};
	static const char *const last[] = {
		"\nHeap, ",       "\nLeaks, 3 sites, sorted by leaked bytes, worst last\n",
		"  3.  ",         "> cache_open",
		"  2.  ",         "> name_of",
		"  1.  ",         "> request_copy",
		"  still live  ", "\nSUMMARY: "};
	struct world world;

	(void)state;
	world_make(&world);
	world.sites[0].leaks.classes[LEAK_INDIRECT] = (struct snapshot_sum){9, 99999};
	assert_order(&world, first, COUNT(first));
	world.options.worst_last = true;
	assert_order(&world, last, COUNT(last));
}

static void test_top(void **state)
{
	uint64_t ranks[FAMILY_COUNT] = {0};

	(void)state;
	assert_true(snapshot_is_top(ranks, &lost_sites[0], 1));
	assert_false(snapshot_is_top(ranks, &lost_sites[0], 1));
	assert_true(snapshot_is_top(ranks, &lost_sites[1], 1));
	assert_false(snapshot_is_top(ranks, &lost_sites[3], 1));
}

/* ---- names, including those that --top hides ---- */

static void no_names(void *ctx, uint32_t module_id, const uint64_t *offsets, size_t count,
		     frame_names_taker *take, void *take_ctx)
{
	static const struct frame_name name = {.function = "f"};

	(void)ctx;
	(void)module_id;
	(void)offsets;
	for (size_t i = 0; i < count; i++)
		take(take_ctx, i, &name, 1);
}

static void some_module(void *ctx, uint32_t module_id, const char **ret_path, const char **ret_id)
{
	(void)ctx;
	(void)module_id;
	*ret_path = "/m";
	*ret_id = NULL;
}

static void test_resolve(void **state)
{
	struct resolver resolver = {.names = no_names, .module = some_module};
	struct snapshot *snapshot = snapshot_new();
	struct snapshot_frame frames[4] = {{0}};
	struct world world;

	(void)state;
	world_make(&world);
	for (uint32_t i = 0; i < 4; i++)
		world.stacks[i] = (struct snapshot_stack){.frames = &frames[i], .frame_count = 1};
	world.sites[3].leaks = (struct snapshot_leaks){.classes[LEAK_POSSIBLE] = {1, 1}};
	memset(&world.sites[2].leaks, 0, sizeof(world.sites[2].leaks));
	snapshot->processes = &world.process;
	snapshot->process_count = 1;
	assert_int_equal(snapshot_resolve(snapshot, &resolver, 1), 0);
	assert_string_equal(world.stacks[0].frames->function, "f");
	assert_string_equal(world.stacks[1].frames->function, "f");
	assert_null(world.stacks[2].frames->function);
	assert_string_equal(world.stacks[3].frames->function, "f");
	snapshot_free(snapshot);
}

/* ---- JSON ---- */

static uint64_t number(struct json_object *object, const char *path)
{
	char copy[64], *rest = copy, *key;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((key = strsep(&rest, ".")))
		if (!json_object_object_get_ex(object, key, &object))
			fail_msg("no key %s", path);
	return json_object_get_uint64(object);
}

static struct json_object *process_of(struct json_object *document, size_t index)
{
	struct json_object *processes = json_object_object_get(document, "processes");

	return json_object_array_get_idx(processes, index);
}

/* Sites and scan agree, including suppressed blocks. */
static void check_sums(struct json_object *process)
{
	static const char *const names[] = {"definite",  "indirect", "possible",
					    "reachable", "unknown",  "suppressed"};
	struct json_object *sites = json_object_object_get(process, "sites");

	for (size_t i = 0; i < COUNT(names); i++) {
		uint64_t blocks = 0, bytes = 0;
		char key[64];

		for (size_t j = 0; j < json_object_array_length(sites); j++) {
			struct json_object *site = json_object_array_get_idx(sites, j);

			snprintf(key, sizeof(key), "%s_blocks", names[i]);
			blocks += number(site, key);
			snprintf(key, sizeof(key), "%s_bytes", names[i]);
			bytes += number(site, key);
		}
		snprintf(key, sizeof(key), "scan.%s.blocks", names[i]);
		assert_int_equal(blocks, number(process, key));
		snprintf(key, sizeof(key), "scan.%s.bytes", names[i]);
		assert_int_equal(bytes, number(process, key));
	}
}

static void test_json_sums(void **state)
{
	static const struct snapshot *const snapshots[] = {&lost_snapshot, &clean_snapshot};
	struct format_options options = {.width = 80};

	(void)state;
	for (size_t i = 0; i < COUNT(snapshots); i++) {
		char *text = render(&format_json, snapshots[i], &options);
		struct json_object *document = json_tokener_parse(text);

		for (size_t j = 0; j < snapshots[i]->process_count; j++)
			check_sums(process_of(document, j));
		json_object_put(document);
		free(text);
	}
}

/* Also after suppression. */
static void test_json_suppressed(void **state)
{
	struct suppressions *suppressions = suppressions_new();
	struct snapshot *snapshot = snapshot_new();
	struct json_object *document;
	struct world world;
	char *text;

	(void)state;
	world_make(&world);
	snapshot->processes = &world.process;
	snapshot->process_count = 1;
	assert_int_equal(suppressions_ignore(suppressions, "request_*", NULL), 0);
	assert_int_equal(suppressions_apply(suppressions, LEAK_SET_LOST, snapshot), 1);
	text = render(&format_json, snapshot, &world.options);
	document = json_tokener_parse(text);
	check_sums(process_of(document, 0));
	assert_int_equal(number(process_of(document, 0), "scan.definite.blocks"), 1);
	assert_int_equal(number(process_of(document, 0), "scan.suppressed.bytes"), 340);
	assert_non_null(strstr(text, "\"suppressed_by\": \"request_*\""));
	json_object_put(document);
	free(text);
	suppressions_free(suppressions);
	snapshot_free(snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_text_properties),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_no_leaks_only_among_traced_calls),
		cmocka_unit_test(test_not_scanned),
		cmocka_unit_test(test_scan_mode_is_described),
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_json_sums),
		cmocka_unit_test(test_json_suppressed),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
