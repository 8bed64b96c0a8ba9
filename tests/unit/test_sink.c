/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports of snapshots made by hand, compared with tests/golden; UPDATE_GOLDEN=1 writes those anew.
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
#include <json-c/json.h>

#include "sink/frame.h"
#include "sink/glyph.h"
#include "sink/name.h"
#include "sink/sink.h"
#include "tests/golden/snapshots.h"

/* ---- golden files ---- */

struct golden {
	const char *file;
	const struct sink *sink;
	const struct snapshot *snapshot;
	struct sink_options options;
};

static const struct golden goldens[] = {
	{"leaky.txt", &sink_text, &leaky_snapshot, {.top = 20, .utf8 = true, .width = 80}},
	{"leaky-ascii.txt", &sink_text, &leaky_snapshot, {.top = 20, .width = 80}},
	{"leaky-terminal.txt",
	 &sink_text,
	 &leaky_snapshot,
	 {.top = 20, .worst_last = true, .color = true, .utf8 = true, .width = 80}},
	{"leaky-long.txt",
	 &sink_text,
	 &leaky_snapshot,
	 {.top = 1, .long_frames = true, .utf8 = true, .width = 80}},
	{"server.txt", &sink_text, &server_snapshot, {.utf8 = true, .width = 80}},
	{"server-narrow.txt",
	 &sink_text,
	 &server_snapshot,
	 {.top = 2, .worst_last = true, .long_frames = true, .width = 60}},
	{"server-wide.txt",
	 &sink_text,
	 &server_snapshot,
	 {.long_frames = true, .utf8 = true, .width = 200}},
	{"hostile.txt", &sink_text, &hostile_snapshot, {.utf8 = true, .width = 80}},
	{"hostile-ascii.txt", &sink_text, &hostile_snapshot, {.long_frames = true, .width = 80}},
	{"leaky.json", &sink_json, &leaky_snapshot, {.width = 80}},
	{"leaky-top.json", &sink_json, &leaky_snapshot, {.top = 1}},
	{"server.json", &sink_json, &server_snapshot, {.width = 80}},
	{"hostile.json", &sink_json, &hostile_snapshot, {.width = 80}},
};

static char *render(const struct sink *sink, const struct snapshot *snapshot,
		    const struct sink_options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(sink->write(snapshot, options, out), 0);
	fclose(out);
	assert_int_equal(strlen(text), size);
	return text;
}

static char *read_whole(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!in)
		fail_msg("%s: %s (run from the root of the tree)", path, strerror(errno));
	if (getdelim(&text, &size, '\0', in) < 0)
		fail_msg("%s is empty", path);
	fclose(in);
	return text;
}

static void update_golden(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void check_golden(const struct golden *golden)
{
	char *text = render(golden->sink, golden->snapshot, &golden->options);
	char path[128];
	char *expected;

	snprintf(path, sizeof(path), "tests/golden/%s", golden->file);
	if (getenv("UPDATE_GOLDEN"))
		update_golden(path, text);
	expected = read_whole(path);
	if (strcmp(text, expected))
		fail_msg("%s differs; now it is:\n%s", path, text);
	free(expected);
	free(text);
}

static void test_golden(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(goldens); i++)
		check_golden(&goldens[i]);
}

/* By calls, the site that freed all of its blocks is shown, and comes first. */
static void test_golden_by_calls(void **state)
{
	struct snapshot_site sites[] = {leaky_sites[2], leaky_sites[0], leaky_sites[1]};
	struct snapshot_process process = leaky[0];
	struct snapshot snapshot = leaky_snapshot;
	struct golden golden = {"leaky-calls.txt",
				&sink_text,
				&snapshot,
				{.utf8 = true, .width = 100, .sort = SORT_ALLOCATIONS}};

	(void)state;
	process.sites = sites;
	snapshot.processes = &process;
	check_golden(&golden);
}

/* ---- properties of every text report ---- */

/* Columns as the C library counts them, escape sequences of ours left out. */
static size_t line_columns(const char *line, size_t length)
{
	mbstate_t state = {0};
	size_t columns = 0;

	while (length) {
		wchar_t wide;
		size_t taken;

		if (*line == '\x1b') {
			taken = strcspn(line, "m") + 1;
		} else {
			taken = mbrtowc(&wide, line, length, &state);
			assert_true(taken <= length);
			assert_true(wcwidth(wide) >= 0);
			columns += (size_t)wcwidth(wide);
		}
		line += taken;
		length -= taken;
	}
	return columns;
}

static bool for_grep(const char *line)
{
	return !strncmp(line, "SUMMARY: ", 9) || !strncmp(line, "TOTAL: ", 7);
}

static void check_lines(const char *text, const struct sink_options *options)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		assert_int_equal(text[length], '\n');
		if (!for_grep(text) && line_columns(text, length) > options->width)
			fail_msg("wider than %u: %.*s", options->width, (int)length, text);
		if (length)
			assert_int_not_equal(text[length - 1], ' ');
		text += length + 1;
	}
}

static void check_bytes(const char *text, const struct sink_options *options)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		assert_true(byte >= ' ' || byte == '\n' || (byte == 0x1b && options->color));
		assert_true(byte != 0x7f && (byte < 0x80 || options->utf8));
		if (byte == 0x1b)
			assert_true(strspn(text + 1, "[0123456789;") > 1 &&
				    text[1 + strspn(text + 1, "[0123456789;")] == 'm');
	}
}

static const struct snapshot *const all_snapshots[] = {&leaky_snapshot, &server_snapshot,
						       &hostile_snapshot};

static void test_text_properties(void **state)
{
	static const uint32_t widths[] = {60, 61, 72, 80, 97, 132, 250};

	(void)state;
	for (size_t i = 0; i < COUNT(all_snapshots) * COUNT(widths) * 32; i++) {
		struct sink_options options = {
			.top = i & 1,
			.worst_last = i & 2,
			.color = i & 4,
			.utf8 = i & 8,
			.long_frames = i & 16,
			.width = widths[i / 32 % COUNT(widths)],
			.sort = i % SORT_COUNT,
		};
		char *text = render(&sink_text, all_snapshots[i / 32 / COUNT(widths)], &options);

		check_lines(text, &options);
		check_bytes(text, &options);
		assert_null(strstr(text, "leaked"));
		free(text);
	}
}

static void test_text_order(void **state)
{
	struct sink_options options = {.width = 80};
	char *text = render(&sink_text, &leaky_snapshot, &options);

	(void)state;
	assert_true(strstr(text, "still live") < strstr(text, "1.  "));
	assert_true(strstr(text, " 1.  ") < strstr(text, " 2.  "));
	free(text);
	options.worst_last = true;
	text = render(&sink_text, &leaky_snapshot, &options);
	assert_true(strstr(text, " 2.  ") < strstr(text, " 1.  "));
	assert_true(strstr(text, " 1.  ") < strstr(text, "still live  "));
	assert_true(strstr(text, "still live  ") < strstr(text, "SUMMARY: "));
	free(text);
}

static void test_summary_line(void **state)
{
	struct sink_options options = {.width = 80, .utf8 = true, .color = true};
	char *text = render(&sink_text, &leaky_snapshot, &options);

	(void)state;
	assert_non_null(strstr(text,
			       "\nSUMMARY: leaky (4711): 101 blocks, 1.0 MiB still live at 2 "
			       "sites; worst: 1.0 MiB in 100 blocks from node_new (leaky.c:14)\n"));
	free(text);
}

static void test_empty(void **state)
{
	struct snapshot nothing = {.version = "0.1.0"};
	struct sink_options options = {.width = 80};
	char *text = render(&sink_text, &nothing, &options);

	(void)state;
	assert_string_equal(text, "No process was traced.\n");
	free(text);
}

static void test_site_without_stack(void **state)
{
	struct snapshot_site site = {.api = API_MALLOC, .live_blocks = 1, .stack = 77};
	struct snapshot_process process = {.sites = &site, .site_count = 1};
	struct snapshot snapshot = {.processes = &process, .process_count = 1};
	struct sink_options options = {.width = 80};
	char *text = render(&sink_text, &snapshot, &options);

	(void)state;
	assert_non_null(strstr(text, "(no stack)\n"));
	assert_non_null(strstr(text, "; worst: 0 B in 1 block\n"));
	free(text);
}

/* ---- the line to look at ---- */

static void check_culprit(const struct snapshot_frame *frames, uint32_t count, uint32_t expected)
{
	struct snapshot_stack stack = {.frames = (struct snapshot_frame *)frames,
				       .frame_count = count};

	assert_ptr_equal(stack_culprit(&stack), &frames[expected]);
}

static void test_culprit(void **state)
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

/* What the terminal shows is never wider than what we count, and never nothing. */
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

/* ---- JSON ---- */

static uint64_t get(struct json_object *object, const char *key)
{
	struct json_object *value;

	assert_true(json_object_object_get_ex(object, key, &value));
	assert_true(json_object_is_type(value, json_type_int));
	return json_object_get_uint64(value);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value))
		fail_msg("no key %s", key);
	return value;
}

static struct json_object *parse(const char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *document;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	document = json_tokener_parse_ex(tokener, text, (int)strlen(text) + 1);
	if (!document)
		fail_msg("not JSON: %s", json_tokener_error_desc(json_tokener_get_error(tokener)));
	json_tokener_free(tokener);
	return document;
}

static void check_sums(struct json_object *process)
{
	struct json_object *sites = member(process, "sites");
	uint64_t allocations = 0, frees = 0, bytes = 0, blocks = 0, live = 0;

	for (size_t i = 0; i < json_object_array_length(sites); i++) {
		struct json_object *site = json_object_array_get_idx(sites, i);

		if (!strcmp(json_object_get_string(member(site, "api")), "mmap"))
			continue;
		allocations += get(site, "allocations");
		frees += get(site, "frees");
		bytes += get(site, "bytes_allocated");
		blocks += get(site, "live_blocks");
		live += get(site, "live_bytes");
	}
	assert_int_equal(allocations, get(member(process, "totals"), "allocations"));
	assert_int_equal(frees, get(member(process, "totals"), "frees"));
	assert_int_equal(bytes, get(member(process, "totals"), "bytes_allocated"));
	assert_int_equal(blocks, get(member(process, "live"), "blocks"));
	assert_int_equal(live, get(member(process, "live"), "bytes"));
}

static void check_sums_of(const struct snapshot *snapshot)
{
	struct sink_options options = {.width = 80};
	char *text = render(&sink_json, snapshot, &options);
	struct json_object *document = parse(text);
	struct json_object *processes = member(document, "processes");

	assert_string_equal(json_object_get_string(member(document, "schema")),
			    "mtrace-bpf.report/1");
	assert_int_equal(json_object_array_length(processes), snapshot->process_count);
	for (size_t i = 0; i < snapshot->process_count; i++)
		check_sums(json_object_array_get_idx(processes, i));
	json_object_put(document);
	free(text);
}

static void test_json_sums(void **state)
{
	(void)state;
	check_sums_of(&leaky_snapshot);
	check_sums_of(&server_snapshot);
}

/* Bad bytes, hidden characters and those beyond 16 bits. */
static void test_json_strings(void **state)
{
	struct snapshot_process process = {
		.comm = "a\xff\xc2\x9b\xf3\xa0\x80\x81\"\\/\n\xf0\x9f\x98\x80"};
	struct snapshot snapshot = {.processes = &process, .process_count = 1};
	struct sink_options options = {.width = 80};
	char *text = render(&sink_json, &snapshot, &options);
	struct json_object *document = parse(text);

	(void)state;
	assert_non_null(
		strstr(text, "\"a\\ufffd\\u009b\\udb40\\udc01\\\"\\\\/\\n\xf0\x9f\x98\x80\""));
	assert_string_equal(
		json_object_get_string(member(
			json_object_array_get_idx(member(document, "processes"), 0), "comm")),
		"a\xef\xbf\xbd\xc2\x9b\xf3\xa0\x80\x81\"\\/\n\xf0\x9f\x98\x80");
	json_object_put(document);
	free(text);
}

static void test_json_fate(void **state)
{
	struct sink_options options = {.width = 80};
	char *text = render(&sink_json, &hostile_snapshot, &options);
	struct json_object *document = parse(text);
	struct json_object *processes = member(document, "processes");
	struct json_object *first = json_object_array_get_idx(processes, 0);
	struct json_object *second = json_object_array_get_idx(processes, 1);

	(void)state;
	assert_null(member(first, "exit_code"));
	assert_null(member(first, "exit_signal"));
	assert_int_equal(get(second, "exit_code"), 128 + 11);
	assert_int_equal(get(second, "exit_signal"), 11);
	assert_string_equal(
		json_object_get_string(json_object_array_get_idx(member(second, "command"), 1)),
		"caf\xef\xbf\xbd");
	json_object_put(document);
	free(text);
}

#define MANY 100000

/* A report of many sites, written to a file: what it takes does not grow with it. */
static void test_json_many_sites(void **state)
{
	struct snapshot_site *sites = calloc(MANY, sizeof(*sites));
	struct snapshot_process process = leaky[0];
	struct snapshot snapshot = {.processes = &process, .process_count = 1};
	struct sink_options options = {.width = 80};
	FILE *out = tmpfile();
	int newline, lines = 0;

	(void)state;
	assert_non_null(sites);
	assert_non_null(out);
	for (uint32_t i = 0; i < MANY; i++)
		sites[i] = (struct snapshot_site){.id = i, .api = API_MALLOC, .stack = i % 3};
	process.sites = sites;
	process.site_count = MANY;
	assert_int_equal(sink_json.write(&snapshot, &options, out), 0);
	rewind(out);
	while ((newline = getc(out)) != EOF)
		lines += newline == '\n';
	assert_in_range(lines, MANY, MANY + 200);
	fclose(out);
	free(sites);
}

/* ---- the rest ---- */

static void test_full_disk(void **state)
{
	struct sink_options options = {.width = 80, .utf8 = true};

	(void)state;
	for (size_t i = 0; sink_at(i); i++) {
		FILE *out = fopen("/dev/full", "w");

		assert_non_null(out);
		assert_int_equal(sink_at(i)->write(&server_snapshot, &options, out), -ENOSPC);
		fclose(out);
		out = fopen("/dev/full", "w");
		assert_non_null(out);
		setvbuf(out, NULL, _IONBF, 0);
		assert_int_equal(sink_at(i)->write(&server_snapshot, &options, out), -ENOSPC);
		fclose(out);
	}
}

static void test_find(void **state)
{
	(void)state;
	assert_ptr_equal(sink_find("text"), &sink_text);
	assert_ptr_equal(sink_find("json"), &sink_json);
	assert_null(sink_find("xml"));
	assert_null(sink_at(1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_golden_by_calls),
		cmocka_unit_test(test_text_properties),
		cmocka_unit_test(test_text_order),
		cmocka_unit_test(test_summary_line),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_site_without_stack),
		cmocka_unit_test(test_culprit),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_glyphs),
		cmocka_unit_test(test_glyph_widths),
		cmocka_unit_test(test_json_sums),
		cmocka_unit_test(test_json_fate),
		cmocka_unit_test(test_json_strings),
		cmocka_unit_test(test_json_many_sites),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_find),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
