/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of invalid frees: golden files, order and texts. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/abi.h"
#include "tests/golden/leaks.h"
#include "tests/unit/golden.h"

static struct snapshot_error wrong[] = {
	{.kind = SANITY_DOUBLE_FREE,
	 .count = 2,
	 .api = API_REALLOC,
	 .allocated_by = API_MALLOC,
	 .freed_by = API_FREE,
	 .site = 1,
	 .allocated_at = 1,
	 .freed_at = 2,
	 .freed_again_at = 3,
	 .address = 0x5555000072a0,
	 .size = 80,
	 .passed_size = SIZE_UNKNOWN,
	 .first_seen_ns = 103 * SECOND},
	{.kind = SANITY_INVALID_FREE,
	 .count = 1,
	 .api = API_FREE,
	 .site = INDEX_NONE,
	 .allocated_at = INDEX_NONE,
	 .freed_at = 3,
	 .freed_again_at = INDEX_NONE,
	 .address = 0x7ffc00001000,
	 .passed_size = SIZE_UNKNOWN,
	 .first_seen_ns = 104 * SECOND},
	{.kind = SANITY_MISMATCHED_FREE,
	 .count = 1204,
	 .api = API_DELETE,
	 .allocated_by = API_NEW_ARRAY,
	 .site = 2,
	 .allocated_at = 2,
	 .freed_at = 3,
	 .freed_again_at = INDEX_NONE,
	 .address = 0x555500007310,
	 .size = 6,
	 .passed_size = 1,
	 .first_seen_ns = 105 * SECOND},
	{.kind = SANITY_SIZE_MISMATCH,
	 .count = 1,
	 .api = API_DELETE_ARRAY,
	 .allocated_by = API_NEW_ARRAY,
	 .site = 2,
	 .allocated_at = 2,
	 .freed_at = 0,
	 .freed_again_at = INDEX_NONE,
	 .address = 0x555500007310,
	 .size = 6,
	 .passed_size = 5,
	 .first_seen_ns = 106 * SECOND},
};

static struct snapshot_process wrong_process;
static struct snapshot_site wrong_sites[4];
static struct snapshot wrong_snapshot;

static int make_snapshot(void **state)
{
	(void)state;
	memcpy(wrong_sites, lost_sites, sizeof(lost_sites));
	wrong_sites[1].bad_frees = 2;
	wrong_sites[2].mismatched = 1205;
	wrong_process = lost[0];
	wrong_process.sites = wrong_sites;
	wrong_process.scan = (struct snapshot_scan){0};
	for (size_t i = 0; i < COUNT(wrong_sites); i++)
		wrong_sites[i].leaks = (struct snapshot_leaks){0};
	wrong_process.sanity.done = true;
	wrong_process.sanity.errors = 1211;
	wrong_process.sanity.unlisted = 3;
	wrong_process.sanity.uncertain = 7;
	wrong_process.errors = wrong;
	wrong_process.error_count = COUNT(wrong);
	wrong_snapshot = lost_snapshot;
	wrong_snapshot.processes = &wrong_process;
	return 0;
}

static const struct golden goldens[] = {
	{"errors.txt", &format_text, &wrong_snapshot, {.top = 20, .utf8 = true, .width = 80}},
	{"errors-top.txt", &format_text, &wrong_snapshot, {.top = 2, .width = 60}},
	{"errors-terminal.txt",
	 &format_text,
	 &wrong_snapshot,
	 {.top = 20, .worst_last = true, .color = true, .utf8 = true, .width = 80}},
	{"errors.json", &format_json, &wrong_snapshot, {.top = 1, .width = 80}},
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

	(void)state;
	for (size_t i = 0; i < COUNT(widths) * 16; i++) {
		struct format_options options = {
			.top = i & 1,
			.worst_last = i & 2,
			.color = i & 4,
			.utf8 = i & 8,
			.width = widths[i / 16],
			.sort = i % SORT_COUNT,
		};
		char *text = render(&format_text, &wrong_snapshot, &options);

		check_lines(text, &options);
		check_bytes(text, &options);
		free(text);
	}
}

static void check_summary(const struct snapshot *snapshot, const char *expected)
{
	struct format_options options = {.width = 80};
	char *text = render(&format_text, snapshot, &options);

	if (!strstr(text, expected))
		fail_msg("no '%s' in\n%s", expected, text);
	free(text);
}

static void test_summary(void **state)
{
	struct snapshot_process process = clean_snapshot.processes[0];
	struct snapshot snapshot = clean_snapshot;

	(void)state;
	check_summary(&wrong_snapshot, "): 1,211 errors; ");
	snapshot.processes = &process;
	snapshot.process_count = 1;
	process.sanity.done = true;
	check_summary(&snapshot, "): no errors; ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_text_properties),
		cmocka_unit_test(test_summary),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, make_snapshot, NULL);
}
