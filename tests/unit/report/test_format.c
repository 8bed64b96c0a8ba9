/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports of hand-made snapshots, compared with tests/golden; UPDATE_GOLDEN=1 rewrites those files.
 * Run from the root of the tree.
 */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include "model/event.h"
#include "report/common/frame.h"
#include "report/common/glyph.h"
#include "report/common/name.h"
#include "report/common/page.h"
#include "report/format.h"
#include "tests/golden/snapshots.h"
#include "tests/unit/golden.h"

/* ---- golden files ---- */

static const struct golden goldens[] = {
	{"leaky.txt", &format_text, &leaky_snapshot, {.top = 20, .utf8 = true, .width = 80}},
	{"leaky-ascii.txt", &format_text, &leaky_snapshot, {.top = 20, .width = 80}},
	{"leaky-terminal.txt",
	 &format_text,
	 &leaky_snapshot,
	 {.top = 20, .worst_last = true, .color = true, .utf8 = true, .width = 80}},
	{"leaky-long.txt",
	 &format_text,
	 &leaky_snapshot,
	 {.top = 1, .long_frames = true, .utf8 = true, .width = 80}},
	{"server.txt", &format_text, &server_snapshot, {.utf8 = true, .width = 80}},
	{"server-narrow.txt",
	 &format_text,
	 &server_snapshot,
	 {.top = 2, .worst_last = true, .long_frames = true, .width = 60}},
	{"server-wide.txt",
	 &format_text,
	 &server_snapshot,
	 {.long_frames = true, .utf8 = true, .width = 200}},
	{"build.txt", &format_text, &build_snapshot, {.top = 3, .utf8 = true, .width = 80}},
	{"build-all.txt", &format_text, &build_snapshot, {.utf8 = true, .width = 120}},
	{"build-terminal.txt",
	 &format_text,
	 &build_snapshot,
	 {.top = 2, .worst_last = true, .width = 60}},
	{"build.json", &format_json, &build_snapshot, {.width = 80}},
	{"hostile.txt", &format_text, &hostile_snapshot, {.utf8 = true, .width = 80}},
	{"hostile-ascii.txt", &format_text, &hostile_snapshot, {.long_frames = true, .width = 80}},
	{"leaky.json", &format_json, &leaky_snapshot, {.width = 80}},
	{"leaky-top.json", &format_json, &leaky_snapshot, {.top = 1}},
	{"server.json", &format_json, &server_snapshot, {.width = 80}},
	{"hostile.json", &format_json, &hostile_snapshot, {.width = 80}},
	{"leaky.folded", &format_folded, &leaky_snapshot, {.width = 80}},
	{"leaky-top.folded", &format_folded, &leaky_snapshot, {.top = 1}},
	{"server.folded", &format_folded, &server_snapshot, {.width = 80}},
	{"build.folded", &format_folded, &build_snapshot, {.width = 80}},
	{"hostile.folded", &format_folded, &hostile_snapshot, {.width = 80}},
	{"leaky.heap", &format_pprof_text, &leaky_snapshot, {.width = 80}},
	{"leaky-top.heap", &format_pprof_text, &leaky_snapshot, {.top = 1}},
	{"build.heap", &format_pprof_text, &build_snapshot, {.width = 80}},
	{"hostile.heap", &format_pprof_text, &hostile_snapshot, {.width = 80}},
};

static void test_golden(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(goldens); i++)
		check_golden(&goldens[i]);
}

/* Sorted by calls, a site that freed all its blocks is shown, and comes first. */
static void test_golden_by_calls(void **state)
{
	struct snapshot_site sites[] = {leaky_sites[2], leaky_sites[0], leaky_sites[1]};
	struct snapshot_process process = leaky[0];
	struct snapshot snapshot = leaky_snapshot;
	struct golden golden = {"leaky-calls.txt",
				&format_text,
				&snapshot,
				{.utf8 = true, .width = 100, .sort = SORT_ALLOCATIONS}};

	(void)state;
	process.sites = sites;
	snapshot.processes = &process;
	check_golden(&golden);
}

/* ---- properties of every text report ---- */

static const struct snapshot *const all_snapshots[] = {&leaky_snapshot, &server_snapshot,
						       &build_snapshot, &hostile_snapshot};

static void test_text_properties(void **state)
{
	static const uint32_t widths[] = {60, 61, 72, 80, 97, 132, 250};

	(void)state;
	for (size_t i = 0; i < COUNT(all_snapshots) * COUNT(widths) * 32; i++) {
		struct format_options options = {
			.top = i & 1,
			.worst_last = i & 2,
			.color = i & 4,
			.utf8 = i & 8,
			.long_frames = i & 16,
			.width = widths[i / 32 % COUNT(widths)],
			.sort = i % SORT_COUNT,
		};
		char *text = render(&format_text, all_snapshots[i / 32 / COUNT(widths)], &options);

		check_lines(text, &options);
		check_bytes(text, &options);
		assert_null(strstr(text, "leak "));
		assert_null(strstr(text, "definite"));
		free(text);
	}
}

static void test_text_order(void **state)
{
	struct format_options options = {.width = 80};
	char *text = render(&format_text, &leaky_snapshot, &options);

	(void)state;
	assert_true(strstr(text, "still live") < strstr(text, "1.  "));
	assert_true(strstr(text, " 1.  ") < strstr(text, " 2.  "));
	free(text);
	options.worst_last = true;
	text = render(&format_text, &leaky_snapshot, &options);
	assert_true(strstr(text, " 2.  ") < strstr(text, " 1.  "));
	assert_true(strstr(text, " 1.  ") < strstr(text, "still live  "));
	assert_true(strstr(text, "still live  ") < strstr(text, "SUMMARY: "));
	free(text);
}

/* Folded output is UTF-8 without control, direction-override or other hidden characters. */
static void test_folded_is_clean(void **state)
{
	struct snapshot_frame frames[] = {
		{.address = 1, .function = "a\xe2\x80\xae;\xe2\x81\xa6z\xe2\x80\x8f\xff"},
		{.address = 2, .module = "/tmp/\xc0\xaf/\xe6\xbc\xa2\xe2\x80\x8e\x1b", .vaddr = 1},
	};
	struct snapshot_stack stack = {.frames = frames, .frame_count = COUNT(frames)};
	struct snapshot_site site = {.api = API_MALLOC, .live_bytes = 8};
	struct snapshot_process process = {.comm = "\xed\xa0\x80\x7f",
					   .sites = &site,
					   .site_count = 1,
					   .stacks = &stack,
					   .stack_count = 1};
	struct snapshot snapshot = {.processes = &process, .process_count = 1};
	struct format_options options = {.width = 80};
	char *text = render(&format_folded, &snapshot, &options);

	(void)state;
	assert_string_equal(text, "\\xed\\xa0\\x80\\x7f;[\xe6\xbc\xa2\\u{200e}\\x1b+0x1];"
				  "a\\u{202e}:\\u{2066}z\\u{200f}\\xff;malloc 8\n");
	free(text);
}

static void test_summary_line(void **state)
{
	struct format_options options = {.width = 80, .utf8 = true, .color = true};
	char *text = render(&format_text, &leaky_snapshot, &options);

	(void)state;
	assert_non_null(strstr(text,
			       "\nSUMMARY: leaky (4711): 101 blocks, 1.0 MiB still live at 2 "
			       "sites; worst: 1.0 MiB in 100 blocks from node_new (leaky.c:14)\n"));
	free(text);
}

static void test_empty(void **state)
{
	struct snapshot nothing = {.version = "0.1.0"};
	struct format_options options = {.width = 80};
	char *text = render(&format_text, &nothing, &options);

	(void)state;
	assert_string_equal(text, "No process was traced.\n");
	free(text);
}

static void test_site_without_stack(void **state)
{
	struct snapshot_site site = {.api = API_MALLOC, .live_blocks = 1, .stack = 77};
	struct snapshot_process process = {.sites = &site, .site_count = 1};
	struct snapshot snapshot = {.processes = &process, .process_count = 1};
	struct format_options options = {.width = 80};
	char *text = render(&format_text, &snapshot, &options);

	(void)state;
	assert_non_null(strstr(text, "(no stack)\n"));
	assert_non_null(strstr(text, "; worst: 0 B in 1 block\n"));
	free(text);
}

/* ---- the highlighted line ---- */

static void check_culprit(const struct snapshot_frame *frames, uint32_t count, uint32_t expected)
{
	struct snapshot_stack stack = {.frames = (struct snapshot_frame *)frames,
				       .frame_count = count};

	assert_ptr_equal(stack_culprit(&stack), &frames[expected]);
}

static void test_highlighted_line(void **state)
{
	static const struct snapshot_frame own_line[] = {
		{.function = "operator new", .file = "new_op.cc", .wrapper = true},
		{.function = "allocate", .file = "/usr/include/c++/12/bits/new_allocator.h"},
		{.function = "strdup"},
		{.function = "clone_tree", .file = "tree.c"},
		{.function = "main", .file = "main.c"},
	};
	static const struct snapshot_frame library_line[] = {
		{.function = "strdup"},
		{.function = "allocate", .file = "/usr/include/c++/12/bits/new_allocator.h"},
		{.function = "main"},
	};
	static const struct snapshot_frame no_line[] = {
		{.module = "/lib/libfoo.so"},
		{.function = "clone_tree"},
		{.function = "__libc_start_call_main", .file = "libc-start.c"},
	};
	static const struct snapshot_frame no_name[] = {
		{.function = "operator new", .wrapper = true},
		{.module = "/lib/libfoo.so"},
	};

	(void)state;
	check_culprit(own_line, COUNT(own_line), 3);
	check_culprit(library_line, COUNT(library_line), 1);
	check_culprit(no_line, COUNT(no_line), 1);
	check_culprit(no_name, COUNT(no_name), 1);
	assert_null(stack_culprit(NULL));
}

/* ---- completeness of stacks ---- */

/* The ends of five stacks: the reason and the module of each. */
struct ends {
	uint8_t stop[5];
	uint32_t module[5];
	const char *expected; /* must be in the text */
};

static const struct ends ends[] = {
	{{0}, {0}, "distinct    5 stacks  all complete\n"},
	{{STOP_SIGNAL}, {0}, "5 stacks  80.0% complete, for 0.0% of calls\n"},
	{{STOP_SIGNAL}, {0}, "! 1 stack ends at a function that a signal interrupted: its"},
	{{STOP_DEPTH, STOP_DEPTH},
	 {0},
	 "! 2 stacks end after 17 frames: --depth 127 records more\n"},
	{{STOP_UNKNOWN}, {0}, "80.0% complete, "},
	{{STOP_UNKNOWN, STOP_UNKNOWN, STOP_DEPTH, STOP_UNKNOWN, STOP_UNKNOWN},
	 {0},
	 "5 stacks  unknown if complete: frame pointers cannot tell\n"},
	{{STOP_NOT_TAKEN, STOP_NOT_TAKEN, STOP_NOT_TAKEN, STOP_NOT_TAKEN, STOP_NOT_TAKEN},
	 {0},
	 "distinct    5 places  stacks are off\n"},
	{{STOP_NO_TABLE, STOP_NO_TABLE, STOP_NO_TABLE, STOP_NO_TABLE, STOP_NO_TABLE},
	 {7, 7, 7, 7, 7},
	 "information, all in libjit.so: build it with\n"},
	{{STOP_NO_TABLE, STOP_NO_TABLE, STOP_NO_TABLE, STOP_NO_TABLE, STOP_NO_TABLE},
	 {8, 7, 8, 7, 7},
	 "information, most of them in libjit.so: build it"},
	{{STOP_NO_TABLE, STOP_NO_TABLE, STOP_NO_TABLE, STOP_NO_TABLE},
	 {8, 7, 8, 7},
	 "! 4 stacks end in code without call frame information\n"},
	{{STOP_NO_TABLE, 0, 0, 0, STOP_NO_TABLE},
	 {MODULE_NONE, 7, 7, 7, MODULE_NONE},
	 "information, all compiled at run time: have its"},
	{{0, 0, STOP_NO_ROW}, {7, 7, 7}, "is not supported, in libjit.so: "},
	{{STOP_READ, STOP_PROBE, STOP_BUSY},
	 {0},
	 "! 1 stack ends where the stack could not be read\n"},
	{{STOP_READ, STOP_PROBE, STOP_BUSY},
	 {0},
	 "! 1 stack ends at another tool's return probe: "},
	{{STOP_READ, STOP_PROBE, STOP_BUSY},
	 {0},
	 "! 1 stack ends where the process was changing its"},
	{{STOP_NO_CODE}, {0}, "! 1 stack ends at an invalid return address: "},
};

static void check_ends(const struct ends *row)
{
	struct snapshot_frame frames[5] = {{0}};
	struct snapshot_stack stacks[5] = {{0}};
	struct snapshot_process process = {
		.totals.allocations = 5, .stacks = stacks, .stack_count = COUNT(stacks)};
	struct snapshot snapshot = {.processes = &process, .process_count = 1};
	struct format_options options = {.width = 100};
	char *text;

	for (uint32_t i = 0; i < 5; i++) {
		frames[i].module_id = row->module[i];
		stacks[i] = (struct snapshot_stack){
			.depth = 17,
			.frame_count = 1,
			.frames = &frames[i],
			.stop = row->stop[i],
			.end_module = row->module[i] == 7 ? "/x/libjit.so" : NULL};
	}
	text = render(&format_text, &snapshot, &options);
	if (!strstr(text, row->expected))
		fail_msg("no '%s' in\n%s", row->expected, text);
	free(text);
}

static void test_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(ends); i++)
		check_ends(&ends[i]);
}

static void test_dropped(void **state)
{
	struct snapshot snapshot = leaky_snapshot;
	struct format_options options = {.width = 100};
	char *text;

	(void)state;
	snapshot.dropped = 1234;
	text = render(&format_text, &snapshot, &options);
	assert_non_null(strstr(text, "! 1,234 invalid records dropped\n"));
	free(text);
}

/* ---- names ---- */

static void check_fit(const char *name, size_t columns, const char *expected)
{
	char *text = name_fit(name, columns, true);

	assert_string_equal(text, expected);
	assert_true(text_columns(text, true) <= columns);
	free(text);
}

static void test_names(void **state)
{
	(void)state;
	check_fit("main", 20, "main");
	check_fit("f(" CXX_STRING ")", 20, "f(std::string)");
	check_fit("ns::f(int, char const*, long)", 20, "ns::f(…)");
	check_fit("(anonymous namespace)::f(int, char)", 20, "(anon)::f(int, char)");
	check_fit("(anonymous namespace)::f(int, char)", 16, "(anon)::f(…)");
	check_fit("A<B<int>, C<long> >::g(int)", 24, "A<…>::g(int)");
	check_fit("T<int>::operator()(std::vector<int>)", 24, "T<int>::operator()(…)");
	check_fit("N::operator<< <char, int>(S&, char)", 24, "N::operator<< <…>(…)");
	check_fit("N::V<int, long>::operator->(int, int) const", 28,
		  "N::V<…>::operator->(…) const");
	check_fit("a_rather_long_function_name_in_c", 16, "a_rath…name_in_c");
	check_fit("((((((((((((", 8, "((…(((((");
	check_fit("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 8,
		  "\xe6\xbc\xa2…\xe6\xbc\xa2\xe6\xbc\xa2");
}

static void test_glyphs(void **state)
{
	uint32_t code;
	char *clean;

	(void)state;
	assert_int_equal(utf8_decode("", &code), 0);
	assert_int_equal(utf8_decode("\xc0\x80", &code), 0);
	assert_int_equal(utf8_decode("\xe2\x82", &code), 0);
	assert_int_equal(utf8_decode("\xed\xa0\x80", &code), 0);
	assert_int_equal(utf8_decode("\xf4\x90\x80\x80", &code), 0);
	assert_int_equal(utf8_decode("\xf0\x9f\x98\x80", &code), 4);
	assert_int_equal(code, 0x1f600);
	clean = text_clean("a\x1b\xff\xe2\x80\xae\xc3\xa9", true);
	assert_string_equal(clean, "a\\x1b\\xff\\u{202e}\xc3\xa9");
	free(clean);
	clean = text_clean("\xc3\xa9", false);
	assert_string_equal(clean, "\\xc3\\xa9");
	free(clean);
}

/* Plain, blank, control, hidden and wide characters, narrow ones beyond ASCII, and invalid
 * bytes. */
static const char *const pieces[] = {"a",  " ", "zz <>", "\x1b", "\x7f", "\xe2\x80\xae",
				     "漢", "é", "\xff",  "\xe6"};

static void random_text(unsigned int *seed, char text[64])
{
	char *end = text;

	for (int i = rand_r(seed) % 8; i > 0; i--)
		end = stpcpy(end, pieces[(size_t)rand_r(seed) % COUNT(pieces)]);
	*end = '\0';
}

/* Runs that are skipped at once give the same result as character by character. */
static void test_plain_runs(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char text[64], expected[256] = "", *clean;
		const bool utf8 = i % 2;
		size_t columns = 0, taken;
		struct glyph glyph;

		random_text(&seed, text);
		for (const char *at = text; (taken = glyph_next(at, utf8, &glyph)); at += taken) {
			columns += glyph.columns;
			strcat(expected, glyph.text);
		}
		clean = text_clean(text, utf8);
		assert_string_equal(clean, expected);
		assert_int_equal(text_columns(text, utf8), columns);
		assert_int_equal(text_columns(clean, utf8), columns);
		free(clean);
	}
}

/* A line of text, written at once or character by character. The caller frees it. */
static char *page_line(const char *text, bool alone, size_t width, bool color)
{
	char *bytes;
	size_t size, taken = strlen(text);
	FILE *file = open_memstream(&bytes, &size);
	struct page page = {
		.out.file = file, .utf8 = true, .color = color, .width = width, .limit = width};
	struct glyph glyph = {.columns = 0};

	assert_non_null(file);
	for (; *text; text += taken) {
		char part[64] = "";

		if (alone)
			taken = glyph_next(text, true, &glyph);
		if (page.column + glyph.columns > width)
			break;
		memcpy(part, text, taken);
		page_text(&page, STYLE_STRONG, part);
	}
	page_end(&page);
	fclose(file);
	return bytes;
}

static void test_page_runs(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		char text[64], *together, *alone;

		random_text(&seed, text);
		together = page_line(text, false, (size_t)i % 16, i % 2);
		alone = page_line(text, true, (size_t)i % 16, i % 2);
		assert_string_equal(together, alone);
		free(together);
		free(alone);
	}
}

/* On a terminal, text is never wider than our count, and never empty. */
static void test_glyph_widths(void **state)
{
	(void)state;
	for (uint32_t code = 0x80; code <= 0x10ffff; code++) {
		char text[MB_LEN_MAX + 1] = "";
		mbstate_t shift = {0};
		struct glyph glyph = {.columns = 0};

		if (wcrtomb(text, (wchar_t)code, &shift) == (size_t)-1)
			continue;
		glyph_next(text, true, &glyph);
		if (wcwidth((wchar_t)code) > (int)glyph.columns)
			fail_msg("U+%04X is %d columns wide, not %zu", code, wcwidth((wchar_t)code),
				 glyph.columns);
	}
}

/* ---- others ---- */

static void test_full_disk(void **state)
{
	struct format_options options = {.width = 80, .utf8 = true};

	(void)state;
	for (size_t i = 0; format_at(i); i++) {
		FILE *out = fopen("/dev/full", "w");

		assert_non_null(out);
		assert_int_equal(format_at(i)->write(&server_snapshot, &options, out), -ENOSPC);
		fclose(out);
		out = fopen("/dev/full", "w");
		assert_non_null(out);
		setvbuf(out, NULL, _IONBF, 0);
		assert_int_equal(format_at(i)->write(&server_snapshot, &options, out), -ENOSPC);
		fclose(out);
	}
}

static void test_find(void **state)
{
	(void)state;
	assert_ptr_equal(format_find("text"), &format_text);
	assert_ptr_equal(format_find("json"), &format_json);
	assert_null(format_find("xml"));
	assert_null(format_at(1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_golden_by_calls),
		cmocka_unit_test(test_text_properties),
		cmocka_unit_test(test_text_order),
		cmocka_unit_test(test_folded_is_clean),
		cmocka_unit_test(test_summary_line),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_site_without_stack),
		cmocka_unit_test(test_highlighted_line),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_glyphs),
		cmocka_unit_test(test_glyph_widths),
		cmocka_unit_test(test_plain_runs),
		cmocka_unit_test(test_page_runs),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_find),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
