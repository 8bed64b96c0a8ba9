/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading JSON reports: those of tests/golden, and invalid files. Run from the root of the tree. */
#include <errno.h>

#include "app/report/report_file.h"
#include "tests/golden/snapshots.h"
#include "tests/unit/golden.h"
#include "tests/unit/scratch.h"

static const struct {
	const char *file;
	const struct snapshot *snapshot;
} files[] = {
	{"tests/golden/leaky.json", &leaky_snapshot},
	{"tests/golden/server.json", &server_snapshot},
	{"tests/golden/build.json", &build_snapshot},
	{"tests/golden/hostile.json", &hostile_snapshot},
};

static void compare_site(const struct snapshot_site *found, const struct snapshot_site *expected)
{
	assert_int_equal(found->id, expected->id);
	assert_int_equal(found->api, expected->api < API_COUNT ? expected->api : API_NONE);
	assert_int_equal(found->allocations, expected->allocations);
	assert_int_equal(found->live_blocks, expected->live_blocks);
	assert_true(found->live_bytes == expected->live_bytes);
	assert_int_equal(found->leaks.classes[LEAK_DEFINITE].blocks,
			 expected->leaks.classes[LEAK_DEFINITE].blocks);
}

static void compare_process(const struct snapshot_process *found,
			    const struct snapshot_process *expected)
{
	assert_int_equal(found->pid, expected->pid);
	assert_true(found->live.bytes == expected->live.bytes);
	assert_int_equal(found->site_count, expected->site_count);
	assert_int_equal(found->stack_count, expected->stack_count);
	for (size_t i = 0; i < found->site_count; i++)
		compare_site(&found->sites[i], &expected->sites[i]);
	for (size_t i = 0; i < found->stack_count; i++)
		assert_int_equal(found->stacks[i].frame_count, expected->stacks[i].frame_count);
}

static void compare_snapshot(const char *path, const struct snapshot *expected)
{
	struct snapshot *found;
	struct error err;

	assert_int_equal(report_file_read(&found, path, &err), 0);
	assert_int_equal(found->process_count, expected->process_count);
	assert_true(found->taken_at == expected->taken_at);
	for (size_t j = 0; j < found->process_count; j++)
		compare_process(&found->processes[j], &expected->processes[j]);
	snapshot_free(found);
}

static void test_written_reports_are_read_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(files); i++)
		compare_snapshot(files[i].file, files[i].snapshot);
}

static int read_text(struct scratch *scratch, const char *text, size_t size)
{
	struct snapshot *found = NULL;
	struct error err;
	int code;

	scratch_write(scratch, "report", text, size, 0644);
	code = report_file_read(&found, scratch_path(scratch, "report"), &err);
	if (!code)
		snapshot_free(found);
	else
		assert_int_equal(strcspn(err.text, "\n"), strlen(err.text));
	return code;
}

/* A truncated file is refused wherever it is cut. */
static void test_truncated_report_is_refused(void **state)
{
	char *text = read_whole("tests/golden/leaky.json");
	size_t size = strlen(text);

	while (text[size - 1] != '}')
		size--;
	for (size_t i = 0; i < size; i += 7)
		assert_int_equal(read_text(*state, text, i), -EINVAL);
	assert_int_equal(read_text(*state, text, size), 0);
	free(text);
}

/* With values of the wrong type, less is read, but nothing breaks. */
static void test_values_of_wrong_type(void **state)
{
	static const char kinds[] = "\"[{0123456789tfn";
	char *text = read_whole("tests/golden/leaky.json");
	size_t size = strlen(text);
	char *changed = malloc(size);

	for (size_t i = 0; i + 1 < size; i++) {
		if (text[i] != ':' && text[i] != ',')
			continue;
		memcpy(changed, text, size);
		changed[i + 1] = kinds[i % (sizeof(kinds) - 1)];
		(void)read_text(*state, changed, size);
	}
	free(changed);
	free(text);
}

static void test_files_that_are_not_reports(void **state)
{
	static const char *const texts[] = {
		"",
		"{}",
		"[]",
		"null",
		"7",
		"\xff\xfe",
		"{\"schema\": \"mtrace-bpf.report/2\"}",
		"{\"schema\": 1}",
	};
	static const char least[] = "{\"schema\": \"mtrace-bpf.report/1\"}";
	struct snapshot *found;
	struct error err;

	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(read_text(*state, texts[i], strlen(texts[i])), -EINVAL);
	assert_int_equal(read_text(*state, least, strlen(least)), 0);
	assert_int_equal(report_file_read(&found, "/nowhere", &err), -ENOENT);
	assert_int_equal(report_file_read(&found, "/", &err), -EINVAL);
}

#define REPORT        "\"schema\": \"mtrace-bpf.report/1\""
#define SITES         "\"sites\": [{}, 7, {\"stack\": 9, \"live_bytes\": 5}]"
#define STACKS        "\"stacks\": [{\"id\": 4}, null, {\"id\": 9}]"
#define WRAPPED(text) "{\"processes\": [null, {" text "}], " REPORT "}"

/* The members of a report may be in any order, for example sorted by name. */
static void test_order_of_members_does_not_matter(void **state)
{
	static const char *const texts[] = {
		WRAPPED(SITES ", \"pid\": 3, " STACKS),
		WRAPPED(STACKS ", \"pid\": 3, " SITES),
		WRAPPED("\"sites\": [{\"live_bytes\": 1}], " SITES "," STACKS ", \"pid\": 3"),
		WRAPPED("\"x\": [\"]}\\\"\", {\"\\\\\": 1}, []], \"pid\": 3," SITES "," STACKS),
	};
	struct scratch *scratch = *state;

	for (size_t i = 0; i < COUNT(texts); i++) {
		const struct snapshot_process *process;
		struct snapshot *found;
		struct error err;

		scratch_write(scratch, "report", texts[i], strlen(texts[i]), 0644);
		assert_int_equal(report_file_read(&found, scratch_path(scratch, "report"), &err),
				 0);
		assert_int_equal(found->process_count, 1);
		process = found->processes;
		assert_int_equal(process->pid, 3);
		assert_int_equal(process->stack_count, 2);
		assert_int_equal(process->site_count, 1);
		assert_int_equal(process->sites[0].live_bytes, 5);
		assert_int_equal(process->sites[0].stack, 1);
		snapshot_free(found);
	}
}

/* Values are read from a buffer of 64 KiB, so they cross its end in all places. */
static void test_values_are_read_across_pieces(void **state)
{
	static const char report[] = WRAPPED("\"comm\": \"a \\\" b\", \"pid\" : 3 , " SITES);
	enum { PIECE = 65536, SIZE = sizeof(report) - 1 };
	char *text = malloc(PIECE + SIZE);
	struct scratch *scratch = *state;

	memset(text, ' ', PIECE);
	for (size_t i = 0; i <= SIZE; i++) {
		struct snapshot *found;
		struct error err;

		memcpy(text + PIECE - i, report, SIZE);
		scratch_write(scratch, "report", text, PIECE - i + SIZE, 0644);
		assert_int_equal(report_file_read(&found, scratch_path(scratch, "report"), &err),
				 0);
		assert_string_equal(found->processes[0].comm, "a \" b");
		assert_int_equal(found->processes[0].pid, 3);
		assert_int_equal(found->processes[0].site_count, 1);
		snapshot_free(found);
	}
	free(text);
}

static void test_damaged_reports_are_refused(void **state)
{
	static const char *const texts[] = {
		WRAPPED("\"sites\": [{},]"), WRAPPED("\"sites\": [{} {}]"),
		WRAPPED("\"sites\": [{}}"),  WRAPPED("\"sites\": [{]]"),
		WRAPPED("\"sites\": {]"),    WRAPPED("\"sites\": [,{}]"),
		WRAPPED("\"pid\": 3,"),      WRAPPED("\"pid\" 3"),
		WRAPPED("pid: 3"),           WRAPPED("7: 3"),
		WRAPPED("\"pid\": "),        WRAPPED("\"other\": [1, 2, nothing]"),
	};

	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(read_text(*state, texts[i], strlen(texts[i])), -EINVAL);
}

/* Writes a report in which one value repeats a text. */
static int read_repeated(struct scratch *scratch, const char *before, const char *text,
			 size_t count, const char *after)
{
	size_t length = strlen(text), size = strlen(before);
	char *report = malloc(size + count * length + strlen(after) + 1);
	int code;

	memcpy(report, before, size);
	for (size_t i = 0; i < count; i++, size += length)
		memcpy(report + size, text, length);
	memcpy(report + size, after, strlen(after));
	code = read_text(scratch, report, size + strlen(after));
	free(report);
	return code;
}

static void test_deep_and_large_reports_are_refused(void **state)
{
	static const char sites[] = "{" REPORT ", \"processes\": [{\"sites\": [{}",
			  processes[] = "{" REPORT ", \"processes\": [{}", end[] = "]}]}";
	struct scratch *scratch = *state;

	assert_int_equal(read_repeated(scratch, sites, ",[", 1000, ""), -EINVAL);
	assert_int_equal(read_repeated(scratch, sites, "", 0, ",{\"a\": [[[]]]}]}]}"), 0);
	assert_int_equal(read_repeated(scratch, sites, ",{}", 500000, end), 0);
	assert_int_equal(read_repeated(scratch, sites, ",{\"live_bytes\":1}", 500000, end), -EFBIG);
	assert_int_equal(read_repeated(scratch, processes, ",{}", 400000, "]}"), -EFBIG);
	/* One value: */
	assert_int_equal(read_repeated(scratch, sites, ",{\"a\":[[]", 1, "]}]}]}"), 0);
	assert_int_equal(read_repeated(scratch, "{\"a\": {\"b\": [0", ",{}", 100000, "]}}"),
			 -EFBIG);
	assert_int_equal(read_repeated(scratch, "{\"schema\": \"", "a", 20000000, "\"}"), -EFBIG);
}

static const struct {
	const char *date;
	int64_t seconds; /* -1: refused */
} dates[] = {
	{"1970-01-01T00:00:00.000Z", 0},
	{"2000-02-29T00:00:00.000Z", 951782400},
	{"2026-11-22T19:08:24.177Z", 1795374504},
	{"2499-12-31T23:59:59.999Z", 16725225599},
	{"2500-01-01T00:00:00.000Z", -1},
	{"1969-12-31T23:59:59.999Z", -1},
	{"-2147483648-01-01T00:00:00.000Z", -1},
	{"2147483647-12-31T23:59:59.999Z", -1},
	{"2026--2147483648-01T00:00:00.000Z", -1},
	{"2026-00-01T00:00:00.000Z", -1},
	{"2026-13-01T00:00:00.000Z", -1},
	{"2026-01-00T00:00:00.000Z", -1},
	{"2026-04-31T00:00:00.000Z", -1},
	{"2026-02-29T00:00:00.000Z", -1},
	{"2100-02-29T00:00:00.000Z", -1},
	{"2026-01-01T24:00:00.000Z", -1},
	{"2026-01-01T00:60:00.000Z", -1},
	{"2026-01-01T00:00:61.000Z", -1},
	{"2026-01-01T00:00:2147483647.000Z", -1},
	{"2026-01-01T00:00:00.4294967296Z", -1},
	{"2026-01-01T00:00:00.000Z\\n", -1},
	{"2026-01-01T00:00:00", -1},
	{"yesterday", -1},
};

static void test_impossible_dates_are_refused(void **state)
{
	struct scratch *scratch = *state;

	for (size_t i = 0; i < COUNT(dates); i++) {
		struct snapshot *found = NULL;
		struct error err;
		char text[256];
		int code;

		snprintf(text, sizeof(text),
			 "{\"schema\": \"mtrace-bpf.report/1\", \"taken_at\": \"%s\"}",
			 dates[i].date);
		scratch_write(scratch, "report", text, strlen(text), 0644);
		code = report_file_read(&found, scratch_path(scratch, "report"), &err);
		assert_int_equal(code, dates[i].seconds < 0 ? -EINVAL : 0);
		if (code)
			assert_non_null(strstr(err.text, "report is damaged: its date (taken_at)"));
		else
			assert_true(found->taken_at == dates[i].seconds);
		snapshot_free(found);
	}
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_reports_are_read_back),
		WITH_SCRATCH(test_truncated_report_is_refused),
		WITH_SCRATCH(test_values_of_wrong_type),
		WITH_SCRATCH(test_files_that_are_not_reports),
		WITH_SCRATCH(test_order_of_members_does_not_matter),
		WITH_SCRATCH(test_values_are_read_across_pieces),
		WITH_SCRATCH(test_damaged_reports_are_refused),
		WITH_SCRATCH(test_deep_and_large_reports_are_refused),
		WITH_SCRATCH(test_impossible_dates_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
