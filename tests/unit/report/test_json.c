/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON report as read by a parser. tests/golden/check_schema.py checks its form.
 *
 * Under sanitizers the long report has a tenth of the sites. EXHAUSTIVE=1 writes all of them (see
 * sweep.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "report/format.h"
#include "report/json/frames.h"
#include "tests/golden/snapshots.h"
#include "tests/unit/render.h"
#include "tests/unit/sweep.h"

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
	struct format_options options = {.width = 80};
	char *text = render(&format_json, snapshot, &options);
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

/* Invalid bytes, hidden characters and those beyond 16 bits. */
static void test_json_strings(void **state)
{
	struct snapshot_process process = {
		.comm = "a\xff\xc2\x9b\xf3\xa0\x80\x81\"\\/\n\xf0\x9f\x98\x80"};
	struct snapshot snapshot = {.processes = &process, .process_count = 1};
	struct format_options options = {.width = 80};
	char *text = render(&format_json, &snapshot, &options);
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
	struct format_options options = {.width = 80};
	char *text = render(&format_json, &hostile_snapshot, &options);
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

static char *render_frames(struct json_frames *frames)
{
	static const struct snapshot_stack *const stacks[] = {leaky_stacks, hostile_stacks,
							      leaky_stacks + 1, leaky_stacks};
	struct json_writer writer = {.depth = 0};
	char *text = NULL;
	size_t size = 0;

	writer.out.file = open_memstream(&text, &size);
	json_open_array(&writer, NULL, JSON_LINES);
	for (size_t i = 0; i < COUNT(stacks); i++)
		for (uint32_t j = 0; j < stacks[i]->frame_count; j++)
			json_frames_put(frames, &writer, &stacks[i]->frames[j]);
	json_close(&writer);
	fclose(writer.out.file);
	return text;
}

/* The output is the same whether a frame's text is copied or formatted again. */
static void test_json_frames(void **state)
{
	struct json_frames kept, none = {.size = 0};
	char *copied, *written;

	(void)state;
	json_frames_open(&kept);
	copied = render_frames(&kept);
	written = render_frames(&none);
	assert_string_equal(copied, written);
	assert_int_equal(kept.known.count, leaky_stacks[0].frame_count +
						   leaky_stacks[1].frame_count +
						   hostile_stacks[0].frame_count);
	assert_int_equal(none.known.count, 0);
	json_frames_close(&kept);
	json_frames_close(&none);
	free(copied);
	free(written);
}

/* The memory for writing a report does not grow with the number of sites. */
static void test_json_many_sites(void **state)
{
	const uint32_t many = sweep_is_exhaustive() ? 100000 : 10000;
	struct snapshot_site *sites = calloc(many, sizeof(*sites));
	struct snapshot_process process = leaky[0];
	struct snapshot snapshot = {.processes = &process, .process_count = 1};
	struct format_options options = {.width = 80};
	FILE *out = tmpfile();
	int newline, lines = 0;

	(void)state;
	assert_non_null(sites);
	assert_non_null(out);
	for (uint32_t i = 0; i < many; i++)
		sites[i] = (struct snapshot_site){.id = i, .api = API_MALLOC, .stack = i % 3};
	process.sites = sites;
	process.site_count = many;
	assert_int_equal(format_json.write(&snapshot, &options, out), 0);
	rewind(out);
	while ((newline = getc(out)) != EOF)
		lines += newline == '\n';
	assert_in_range(lines, many, many + 200);
	fclose(out);
	free(sites);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_sums),       cmocka_unit_test(test_json_fate),
		cmocka_unit_test(test_json_strings),    cmocka_unit_test(test_json_frames),
		cmocka_unit_test(test_json_many_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
