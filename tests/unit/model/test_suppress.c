/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which stacks a suppression matches, the syntax of suppression files, and the sums after
 * suppression. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/suppress/match.h"
#include "model/suppress/parse.h"
#include "model/suppress/rule.h"
#include "model/suppress/suppress.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char *demangle_from_table(const char *symbol)
{
	return strdup(strcmp(symbol, "_ZN5cache3putEi") ? symbol : "cache::put(int)");
}

static int parse(struct suppressions *suppressions, const char *text, struct error *err)
{
	struct suppression_text file = {"f.supp", text, strlen(text), demangle_from_table};

	return suppressions_parse(suppressions, &file, err);
}

/* ---- patterns ---- */

static bool wild(const char *pattern, const char *text)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", pattern);
	for (char *at = copy; *at; at++)
		*at = *at == '*' ? WILD_RUN : *at == '?' ? WILD_ONE : *at;
	return wild_match(copy, text, strlen(text));
}

static void test_patterns(void **state)
{
	(void)state;
	assert_true(wild("", ""));
	assert_true(wild("*", ""));
	assert_true(wild("**", "abc"));
	assert_true(wild("a*c", "abcbc"));
	assert_true(wild("*b?", "abcbd"));
	assert_true(wild("a[b]", "a[b]"));
	assert_true(wild("*aab", "aaaaab"));
	assert_false(wild("", "a"));
	assert_false(wild("?", ""));
	assert_false(wild("a*c", "abcd"));
	assert_false(wild("a?", "a"));
	assert_false(wild("a", "ab"));
	assert_false(wild("*a*b*c", "ccbbaa"));
}

/* A matcher with exponential cost would never return. */
static void test_patterns_do_not_backtrack_exponentially(void **state)
{
	char pattern[64] = "", text[4096];

	(void)state;
	for (int i = 0; i < 15; i++)
		strcat(pattern, "a*a*");
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_true(wild(pattern, text));
	strcat(pattern, "b");
	assert_false(wild(pattern, text));
}

/* ---- matching ---- */

static struct snapshot_frame frames[] = {
	{.function = "operator new(unsigned long)", .wrapper = true, .module = "/l/libstdc++.so.6"},
	{.function = "std::__detail::node::allocate(int)", .file = "/usr/include/c++/12/bits/a.h"},
	{.function = "cache::put(int)", .file = "/src/cache.cc", .line = 12, .module = "/bin/app"},
	{.module = "/l/libplugin.so.3"},
	{.function = "main", .file = "/src/main.c", .line = 3, .module = "/bin/app"},
};

struct meaning {
	const char *text;
	bool meant;
};

static const struct meaning meanings[] = {
	{"ignore:main", true},
	{"ignore:mai", false},
	{"ignore:mai?", true},
	{"ignore:cache::put", true},
	{"ignore:cache::put(int)", true},
	{"ignore:cache::put(*", true},
	{"ignore:cache::*", true},
	{"ignore:*::p*", true},
	{"ignore:libplugin*", false},
	{"ignore:/^cache::(put|get)\\(/", true},
	{"ignore:/ache/", true},
	{"ignore:/^ache/", false},
	{"leak:put", true},
	{"leak:^put", false},
	{"leak:^main$", true},
	{"leak:^mai$", false},
	{"leak:put(int)$", true},
	{"leak:libplugin.so", true},
	{"leak:^libplugin.so", false},
	{"leak:cache.cc", true},
	{"leak:cache*put", true},
	{"leak:put*cache", false},
	{"leak:ca?he", false},
	{"{\nx\nMemcheck:Leak\nfun:_Znwm\n}", true},
	{"{\nx\nMemcheck:Leak\nfun:_Znw*\n}", true},
	{"{\nx\nMemcheck:Leak\nfun:operator new\n}", true},
	{"{\nx\nMemcheck:Leak\nfun:malloc\n}", false},
	{"{\nx\nMemcheck:Leak\nfun:*\nfun:std*\nfun:_ZN5cache3putEi\nobj:*/libplugin.so*\n}", true},
	{"{\nx\nMemcheck:Leak\nfun:_Znwm\nfun:main\n}", false},
	{"{\nx\nMemcheck:Leak\nfun:_Znwm\n...\nfun:main\n}", true},
	{"{\nx\nMemcheck:Leak\n...\nfun:main\n}", true},
	{"{\nx\nMemcheck:Leak\n...\nfun:main\nfun:*\n}", false},
	{"{\nx\nMemcheck:Leak\n...\nfun:main\n...\n}", true},
	{"{\nx\nMemcheck:Leak\n...\nfun:cache::put\n...\nobj:/bin/app\n}", true},
	{"{\nx\nMemcheck:Leak\n...\nsrc:cache.cc:12\n}", true},
	{"{\nx\nMemcheck:Leak\n...\nsrc:/src/cache.cc\n}", true},
	{"{\nx\nMemcheck:Leak\n...\nsrc:cache.cc:1\n}", false},
	{"{\nx\nAddrcheck,Memcheck:Leak\nmatch-leak-kinds: definite,possible\n...\n}", true},
	{"{\nx\nMemcheck:Leak\nmatch-leak-kinds: reachable\n...\n}", false},
	{"{\nx\nMemcheck:Addr4\nfun:*\n}", false},
	{"{\nx\nHelgrind:Race\nwhatever it says\n}", false},
	{"\n# leak:main\n\t # {\n", false},
};

static int leaks_excused(const char *text)
{
	struct suppressions *suppressions = suppressions_new();
	struct snapshot *snapshot = snapshot_new();
	struct snapshot_site site = {.api = API_NEW, .leaks.classes[LEAK_DEFINITE] = {1, 8}};
	struct snapshot_stack stack = {.frames = frames, .frame_count = COUNT(frames)};
	struct snapshot_process process = {.scan.done = true,
					   .scan.classes[LEAK_DEFINITE] = {1, 8},
					   .sites = &site,
					   .site_count = 1,
					   .stacks = &stack,
					   .stack_count = 1};
	struct error err;
	int excused;

	snapshot->processes = &process;
	snapshot->process_count = 1;
	if (parse(suppressions, text, &err))
		fail_msg("%s: %s", text, err.text);
	excused = suppressions_apply(suppressions, LEAK_SET_LOST, snapshot);
	suppressions_free(suppressions);
	snapshot_free(snapshot);
	return excused;
}

static void test_matching(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(meanings); i++)
		if (leaks_excused(meanings[i].text) != meanings[i].meant)
			fail_msg("%s", meanings[i].text);
}

/* ---- sums ---- */

static struct snapshot_site lost_sites[] = {
	{.id = 0,
	 .api = API_MALLOC,
	 .leaks.classes = {[LEAK_DEFINITE] = {1, 10},
			   [LEAK_INDIRECT] = {2, 20},
			   [LEAK_POSSIBLE] = {3, 30},
			   [LEAK_REACHABLE] = {4, 40}}},
	{.id = 1, .api = API_MALLOC, .stack = 1, .leaks.classes[LEAK_DEFINITE] = {5, 50}},
	{.id = 2, .api = API_MALLOC, .stack = 77, .leaks.classes[LEAK_DEFINITE] = {6, 60}},
};

struct model_fixture {
	struct snapshot *snapshot;
	struct snapshot_process process;
	struct snapshot_site sites[3];
	struct snapshot_stack stacks[2];
	struct suppressions *suppressions;
};

static void fixture_open(struct model_fixture *fixture, const char *text)
{
	struct error err;

	memset(fixture, 0, sizeof(*fixture));
	memcpy(fixture->sites, lost_sites, sizeof(lost_sites));
	fixture->stacks[0] = (struct snapshot_stack){.frames = &frames[2], .frame_count = 1};
	fixture->stacks[1] = (struct snapshot_stack){.frames = &frames[4], .frame_count = 1};
	fixture->process = (struct snapshot_process){
		.scan = {.done = true,
			 .classes = {[LEAK_DEFINITE] = {12, 120},
				     [LEAK_INDIRECT] = {2, 20},
				     [LEAK_POSSIBLE] = {3, 30},
				     [LEAK_REACHABLE] = {4, 40}}},
		.sites = fixture->sites,
		.site_count = 3,
		.stacks = fixture->stacks,
		.stack_count = 2,
	};
	fixture->snapshot = snapshot_new();
	fixture->snapshot->processes = &fixture->process;
	fixture->snapshot->process_count = 1;
	fixture->suppressions = suppressions_new();
	assert_int_equal(parse(fixture->suppressions, text, &err), 0);
}

static void fixture_close(struct model_fixture *fixture)
{
	suppressions_free(fixture->suppressions);
	snapshot_free(fixture->snapshot);
}

static void assert_sum(const struct snapshot_sum *sum, uint64_t blocks)
{
	assert_int_equal(sum->blocks, blocks);
	assert_int_equal(sum->bytes, blocks * 10);
}

/* All leaked blocks move to the suppressed ones, in site and scan. Reachable blocks stay. */
static void test_sums(void **state)
{
	struct model_fixture fixture;

	(void)state;
	fixture_open(&fixture, "leak:put\n");
	assert_int_equal(suppressions_apply(fixture.suppressions, LEAK_SET_LOST, fixture.snapshot),
			 1);
	assert_sum(&fixture.process.scan.classes[LEAK_DEFINITE], 11);
	assert_sum(&fixture.process.scan.classes[LEAK_INDIRECT], 0);
	assert_sum(&fixture.process.scan.classes[LEAK_POSSIBLE], 0);
	assert_sum(&fixture.process.scan.classes[LEAK_REACHABLE], 4);
	assert_sum(&fixture.process.scan.suppressed, 6);
	assert_sum(&fixture.sites[0].leaks.classes[LEAK_DEFINITE], 0);
	assert_sum(&fixture.sites[0].leaks.suppressed, 6);
	assert_string_equal(fixture.sites[0].leaks.suppressed_by, "leak:put");
	assert_null(fixture.sites[1].leaks.suppressed_by);
	/* Suppressed blocks are not suppressed twice. */
	assert_int_equal(suppressions_apply(fixture.suppressions, LEAK_SET_LOST, fixture.snapshot),
			 0);
	assert_sum(&fixture.process.scan.suppressed, 6);
	fixture_close(&fixture);
}

/* Reachable blocks are suppressed only if they count as leaks. */
static void test_suppresses_reachable_on_request(void **state)
{
	const uint32_t classes = LEAK_SET_LOST | LEAK_BIT(LEAK_REACHABLE);
	struct model_fixture fixture;

	(void)state;
	fixture_open(&fixture, "{\nx\nMemcheck:Leak\nmatch-leak-kinds: reachable\n...\n}\n");
	assert_int_equal(suppressions_apply(fixture.suppressions, LEAK_SET_LOST, fixture.snapshot),
			 0);
	assert_sum(&fixture.process.scan.suppressed, 0);
	assert_true(suppressions_apply(fixture.suppressions, classes, fixture.snapshot) > 0);
	assert_sum(&fixture.process.scan.classes[LEAK_REACHABLE], 0);
	assert_sum(&fixture.process.scan.suppressed, 4);
	fixture_close(&fixture);
}

/* A suppression of reachable blocks covers stack-only ones. Other suppressions do so only if they
 * name them, or all. */
static void test_kinds_of_stack_only_blocks(void **state)
{
	static const struct {
		const char *kinds;
		bool covers;
	} lines[] = {{"reachable", true},
		     {"stack-only", true},
		     {"all", true},
		     {"definite,indirect,possible,unknown", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct model_fixture fixture;
		char text[128];
		int sites;

		snprintf(text, sizeof(text), "{\nx\nMemcheck:Leak\nmatch-leak-kinds: %s\n...\n}\n",
			 lines[i].kinds);
		fixture_open(&fixture, text);
		fixture.sites[0].leaks.classes[LEAK_STACK] = (struct snapshot_sum){2, 64};
		fixture.process.scan.classes[LEAK_STACK] = (struct snapshot_sum){2, 64};
		sites = suppressions_apply(fixture.suppressions, LEAK_BIT(LEAK_STACK),
					   fixture.snapshot);
		assert_int_equal(sites > 0, lines[i].covers);
		assert_int_equal(fixture.process.scan.suppressed.blocks, lines[i].covers ? 2 : 0);
		fixture_close(&fixture);
	}
}

/* Another suppression may cover the remaining kinds of a site. The first one is named there. */
static void test_kinds(void **state)
{
	struct model_fixture fixture;

	(void)state;
	fixture_open(&fixture, "{\nfirst\nMemcheck:Leak\nmatch-leak-kinds: possible\n...\n}\n"
			       "{\nsecond\nMemcheck:Leak\nmatch-leak-kinds: definite\n...\n"
			       "fun:main\n}\n");
	assert_int_equal(suppressions_apply(fixture.suppressions, LEAK_SET_LOST, fixture.snapshot),
			 2);
	assert_sum(&fixture.process.scan.classes[LEAK_DEFINITE], 7);
	assert_sum(&fixture.process.scan.classes[LEAK_POSSIBLE], 0);
	assert_sum(&fixture.process.scan.classes[LEAK_INDIRECT], 2);
	assert_sum(&fixture.process.scan.suppressed, 8);
	assert_string_equal(fixture.sites[0].leaks.suppressed_by, "first");
	assert_string_equal(fixture.sites[1].leaks.suppressed_by, "second");
	fixture_close(&fixture);
}

static void test_without_scan(void **state)
{
	struct model_fixture fixture;

	(void)state;
	fixture_open(&fixture, "leak:*\n");
	fixture.process.scan.done = false;
	assert_int_equal(suppressions_apply(fixture.suppressions, LEAK_SET_LOST, fixture.snapshot),
			 0);
	fixture_close(&fixture);
}

/* ---- invalid files ---- */

static const struct {
	const char *text;
	const char *words;
} wrongs[] = {
	{"leak:a\nmain\n", "f.supp:2: expected leak:PATTERN, ignore:PATTERN or {: \"main\""},
	{"\n\nleak:\n", "f.supp:3: no pattern: \"leak:\""},
	{"ignore: \n", "f.supp:1: no pattern"},
	{"ignore:/(/", "f.supp:1: "},
	{"{ x\n", "f.supp:1: unexpected text after {: \"x\""},
	{"{\n", "f.supp:1: block without a name"},
	{"{\n}\n", "f.supp:2: block without a name"},
	{"{\nx\n}\n", "f.supp:3: block without a kind"},
	{"{\nx\nMemcheck:Leak\nfun:a\n", "f.supp:3: block without a closing }: \"x\""},
	{"{\nx\nMemcheck:Leak\n}\n", "f.supp:4: block without frames: \"x\""},
	{"{\nx\nMemcheck:Leak\nmain\n}\n",
	 "f.supp:4: not a frame (fun:, obj:, src: or ...): \"main\""},
	{"{\nx\nMemcheck:Leak\nmatch-leak-kinds: all,some\n...\n}\n",
	 "f.supp:4: unknown kind of leak: \"some\""},
};

static void test_invalid_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(wrongs); i++) {
		struct suppressions *suppressions = suppressions_new();
		struct error err = {0};
		int code = parse(suppressions, wrongs[i].text, &err);

		if (code != -EINVAL || !strstr(err.text, wrongs[i].words))
			fail_msg("%s: %d, %s", wrongs[i].text, code, err.text);
		suppressions_free(suppressions);
	}
}

static void test_binary_file(void **state)
{
	struct suppressions *suppressions = suppressions_new();
	struct suppression_text file = {"f.supp", "leak:a\0b", 8, NULL};
	struct error err;

	(void)state;
	assert_int_equal(suppressions_parse(suppressions, &file, &err), -EINVAL);
	assert_string_equal(err.text, "f.supp: not a text file");
	suppressions_free(suppressions);
}

static void test_mangled(void **state)
{
	struct suppressions *suppressions = suppressions_new();
	struct error err;

	(void)state;
	assert_int_equal(parse(suppressions,
			       "{\nx\nMemcheck:Leak\nfun:_Zn*\nfun:_ZN5cache*\nfun:_Z1fv\n}\n",
			       &err),
			 0);
	assert_int_equal(suppressions_mangled(suppressions), 1);
	suppressions_free(suppressions);
}

static void test_ignore(void **state)
{
	struct suppressions *suppressions = suppressions_new();
	struct error err;

	(void)state;
	assert_int_equal(suppressions_ignore(suppressions, "main", &err), 0);
	assert_int_equal(suppressions_ignore(suppressions, "//", &err), 0);
	assert_int_equal(suppressions_ignore(suppressions, "/a|b/", &err), 0);
	assert_int_equal(suppressions_ignore(suppressions, "", &err), -EINVAL);
	assert_int_equal(suppressions_ignore(suppressions, "/(/", &err), -EINVAL);
	assert_non_null(strstr(err.text, "cannot use \"/(/\" as a regular expression: "));
	suppressions_free(suppressions);
	suppressions_free(NULL);
}

/* Each takes gigabytes or minutes if it is compiled. */
static void test_huge_regular_expressions_are_refused(void **state)
{
	static const char *const patterns[] = {
		"/(a{1,255}){1,255}/",
		"/((a{1,99}){1,99}){1,99}/",
		"/a{1,255}{1,255}{1,255}/",
		"/([]a{2}]{9}[[:alpha:]{]{99}){99}/",
		"/((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+/",
		"/(a*)*\\1/",
	};
	struct suppressions *suppressions = suppressions_new();
	char text[64 * 1024];
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		assert_int_equal(suppressions_ignore(suppressions, patterns[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, " as a regular expression: "));
	}
	memset(text, '(', sizeof(text) - 1);
	text[0] = text[sizeof(text) - 2] = '/';
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(suppressions_ignore(suppressions, text, &err), -EINVAL);
	assert_int_equal(suppressions_ignore(suppressions, "/[0-9a-f]{16}+x{2,}(a|b)*/", &err), 0);
	suppressions_free(suppressions);
}

/* Many small expressions are refused, too. */
static void test_number_of_regular_expressions_is_limited(void **state)
{
	struct suppressions *suppressions = suppressions_new();
	struct error err;
	size_t count = 0;

	(void)state;
	while (count < 100000 && !suppressions_ignore(suppressions, "/a.*b/", &err))
		count++;
	assert_in_range(count, 2000, 20000);
	assert_non_null(strstr(err.text, "too many regular expressions"));
	suppressions_free(suppressions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_patterns_do_not_backtrack_exponentially),
		cmocka_unit_test(test_matching),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_suppresses_reachable_on_request),
		cmocka_unit_test(test_kinds_of_stack_only_blocks),
		cmocka_unit_test(test_without_scan),
		cmocka_unit_test(test_invalid_files),
		cmocka_unit_test(test_binary_file),
		cmocka_unit_test(test_mangled),
		cmocka_unit_test(test_ignore),
		cmocka_unit_test(test_huge_regular_expressions_are_refused),
		cmocka_unit_test(test_number_of_regular_expressions_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
