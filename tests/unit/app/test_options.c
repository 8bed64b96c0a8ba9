/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line means what the manual says, and errors give one helpful line. Help, man page and
 * option table agree. Run from the root of the tree, where docs/mtrace-bpf.1 is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/help.h"
#include "app/cli/option_parser.h"
#include "app/cli/option_table.h"
#include "app/cli/options.h"
#include "app/cli/suggest.h"

#define WORDS_MAX 32
#define MAN_PAGE  "docs/mtrace-bpf.1"

/* A command line, split at blanks. */
struct line {
	char text[256];
	char *words[WORDS_MAX];
	struct options options;
	struct error err;
	int code;
};

static void line_parse(struct line *line, const char *text)
{
	char *rest, *word;
	size_t count = 0;

	*line = (struct line){0};
	snprintf(line->text, sizeof(line->text), "%s", text);
	rest = line->text;
	while ((word = strsep(&rest, " ")) && count + 1 < WORDS_MAX)
		if (*word)
			line->words[count++] = word;
	line->words[count] = NULL;
	line->code = options_parse(&line->options, line->words, &line->err);
}

static void assert_right(struct line *line, const char *text)
{
	line_parse(line, text);
	if (line->code)
		fail_msg("%s: %s", text, line->err.text);
}

static void test_defaults(void **state)
{
	struct line line;

	(void)state;
	assert_right(&line, "");
	assert_null(line.options.program);
	assert_int_equal(line.options.pids.count, 0);
	assert_int_equal(line.options.depth, 32);
	assert_int_equal(line.options.top, 20);
	assert_false(line.options.top_given);
	assert_int_equal(line.options.buffer_bytes, 0);
	assert_int_equal(line.options.apis, API_SET_ALL);
	assert_int_equal(line.options.sort, SORT_USAGE);
	assert_int_equal(line.options.stack, STACK_AUTO);
	assert_int_equal(line.options.color, COLOR_AUTO);
	assert_null(line.options.pairing);
	assert_null(line.options.output);
	assert_int_equal(line.options.formats.count, 1);
	assert_ptr_equal(line.options.formats.items[0].format, &format_text);
	assert_null(line.options.formats.items[0].path);
	assert_null(line.options.omit.items[0]);
	options_free(&line.options);
}

static void test_pids_are_lists_without_duplicates(void **state)
{
	static const pid_t truth[] = {123, 4194303, 7, 8};
	struct line line;

	(void)state;
	assert_right(&line, "-p 123,4194303 --pid=7,123 -p8");
	assert_int_equal(line.options.pids.count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(line.options.pids.items[i], truth[i]);
	options_free(&line.options);
}

static void test_pids_of_pidof_have_blanks(void **state)
{
	char *words[] = {"-p", "12 13\n14", NULL};
	struct options options;
	struct error err;

	(void)state;
	assert_int_equal(options_parse(&options, words, &err), 0);
	assert_int_equal(options.pids.count, 3);
	assert_int_equal(options.pids.items[2], 14);
	options_free(&options);
}

static void test_every_form_of_an_argument(void **state)
{
	static const char *const forms[] = {"-d 8",      "-d8",   "--depth 8",
					    "--depth=8", "-qLd8", "-qLd 8"};
	struct line line;

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		assert_right(&line, forms[i]);
		assert_int_equal(line.options.depth, 8);
		options_free(&line.options);
	}
}

static void test_every_option_is_stored(void **state)
{
	struct line line;

	(void)state;
	assert_right(&line, "-e -u me -c /dir -n -O libx.so -O liby.so --stack none --backend bpf "
			    "--buffer 1m --pairing task -s age --top 0 prog");
	assert_string_equal(line.options.user, "me");
	assert_string_equal(line.options.directory, "/dir");
	assert_true(line.options.no_cpp);
	assert_string_equal(line.options.omit.items[1], "liby.so");
	assert_null(line.options.omit.items[2]);
	assert_int_equal(line.options.stack, STACK_NONE);
	assert_int_equal(line.options.backend, BACKEND_BPF);
	assert_int_equal(line.options.buffer_bytes, 1 << 20);
	assert_string_equal(line.options.pairing, "task");
	assert_int_equal(line.options.sort, SORT_AGE);
	assert_int_equal(line.options.top, 0);
	assert_true(line.options.top_given);
	options_free(&line.options);

	assert_right(&line, "-o out -L --debuginfod --color never -q -vv -v -V -h");
	assert_string_equal(line.options.output, "out");
	assert_true(line.options.long_frames);
	assert_true(line.options.debuginfod);
	assert_int_equal(line.options.color, COLOR_NEVER);
	assert_true(line.options.quiet);
	assert_int_equal(line.options.verbose, 3);
	assert_true(line.options.version);
	assert_true(line.options.help);
	options_free(&line.options);
}

static void test_scans(void **state)
{
	struct line line;

	(void)state;
	assert_right(&line, "-a --scan-every 90s --scan-stop --scan-swapped --align 4 "
			    "--error-exitcode 9 prog");
	assert_true(line.options.scan);
	assert_true(line.options.scan_swapped);
	assert_int_equal(line.options.scan_every_ns, 90 * 1000000000ULL);
	assert_int_equal(line.options.scan_mode, SCAN_MODE_STOP);
	assert_int_equal(line.options.align, 4);
	assert_int_equal(line.options.error_exitcode, 9);
	options_free(&line.options);

	assert_right(&line, "-S --error-exitcode 9 prog"); /* errors, not leaks */
	assert_true(line.options.sanity);
	assert_false(line.options.scan);
	options_free(&line.options);

	assert_right(&line, "--scan-live prog"); /* how to scan implies a scan … */
	assert_true(line.options.scan);
	options_free(&line.options);

	assert_right(&line, "--scan-every 1s --scan-stop prog"); /* … except a periodic scan */
	assert_false(line.options.scan);
	options_free(&line.options);
}

static void test_leak_kinds(void **state)
{
	static const struct {
		const char *line;
		uint32_t kinds;
		bool scan;
	} cases[] = {
		{"prog", LEAK_BIT(LEAK_DEFINITE), false},
		{"--error-exitcode 9 prog", LEAK_BIT(LEAK_DEFINITE), true},
		{"--leak-kinds definite prog", LEAK_BIT(LEAK_DEFINITE), true},
		{"--leak-kinds definite,indirect,possible prog", LEAK_SET_LOST, true},
		{"--leak-kinds=reachable,unknown prog",
		 LEAK_BIT(LEAK_REACHABLE) | LEAK_BIT(LEAK_UNKNOWN), true},
		{"--leak-kinds definite,stack-only prog",
		 LEAK_BIT(LEAK_DEFINITE) | LEAK_BIT(LEAK_STACK), true},
		{"--leak-kinds all prog", LEAK_SET_ALL, true},
		{"--leak-kinds all --leak-kinds possible prog", LEAK_BIT(LEAK_POSSIBLE), true},
		{"--leak-kinds none prog", 0, false},
		{"-S --error-exitcode 9 --leak-kinds none prog", 0, false},
		{"-S --error-exitcode 9 --leak-kinds possible prog", LEAK_BIT(LEAK_POSSIBLE), true},
		{"--scan-every 1s --leak-kinds all prog", LEAK_SET_ALL, false},
	};
	struct line line;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_right(&line, cases[i].line);
		if (line.options.leak_kinds != cases[i].kinds || line.options.scan != cases[i].scan)
			fail_msg("%s: kinds %x, scan %d", cases[i].line, line.options.leak_kinds,
				 line.options.scan);
		options_free(&line.options);
	}
	assert_right(&line, "--error-exitcode 9 --leak-kinds all file");
	assert_null(options_of_live(&line.options)); /* report and connect accept it */
	options_free(&line.options);
}

static void test_options_end_where_the_program_begins(void **state)
{
	struct line line;

	(void)state;
	assert_right(&line, "-q prog -L --unknown");
	assert_false(line.options.long_frames);
	assert_string_equal(line.options.program[0], "prog");
	assert_string_equal(line.options.program[2], "--unknown");
	options_free(&line.options);

	assert_right(&line, "-q -- -L");
	assert_string_equal(line.options.program[0], "-L");
	options_free(&line.options);

	assert_right(&line, "-");
	assert_string_equal(line.options.program[0], "-");
	options_free(&line.options);
}

static void test_families(void **state)
{
	const uint32_t cpp =
		1u << API_NEW | 1u << API_NEW_ARRAY | 1u << API_DELETE | 1u << API_DELETE_ARRAY;
	struct line line;

	(void)state;
	assert_right(&line, "-n");
	assert_int_equal(line.options.apis, API_SET_ALL & ~cpp);
	options_free(&line.options);
	assert_right(&line, "--only new");
	assert_int_equal(line.options.apis, cpp);
	options_free(&line.options);
}

static void test_formats(void **state)
{
	struct line line;

	(void)state;
	assert_right(&line, "--format text --format json");
	assert_int_equal(line.options.formats.count, 1);
	assert_ptr_equal(line.options.formats.items[0].format, &format_json);
	options_free(&line.options);

	assert_right(&line, "--format json=a=b");
	assert_int_equal(line.options.formats.count, 1);
	assert_string_equal(line.options.formats.items[0].path, "a=b");
	options_free(&line.options);

	/* --output requests a text report in addition. */
	assert_right(&line, "--format json=a -o b");
	assert_int_equal(line.options.formats.count, 2);
	assert_ptr_equal(line.options.formats.items[1].format, &format_text);
	options_free(&line.options);
}

struct wrong {
	const char *line;
	const char *words; /* that the message contains */
};

static const struct wrong wrongs[] = {
	{"--dept 3", "unknown option --dept (did you mean --depth?)"},
	{"--ouptut=x", "unknown option --ouptut (did you mean --output?)"},
	{"--frobnicate", "unknown option --frobnicate"},
	{"-x", "unknown option -x"},
	{"-qx", "unknown option -x"},
	{"-p", "-p needs an argument: -p LIST"},
	{"--depth", "--depth needs an argument: --depth N"},
	{"--quiet=1", "--quiet takes no argument"},
	{"-p 0", "-p: \"0\" is not a process id"},
	{"-p -1", "-p: \"-1\" is not a process id"},
	{"-p 12x", "\"12x\""},
	{"-p 1,,2", "\"\" is not a process id"},
	{"-p 2147483648", "\"2147483648\""},
	{"-p 99999999999999999999", "\"99999999999999999999\""},
	{"-d 0", "\"0\" is not a number from 1 to 127"},
	{"-d 128", "\"128\" is not a number from 1 to 127"},
	{"--stack fpp", "\"fpp\" is not one of auto|cfi|fp|none (did you mean fp?)"},
	{"--backend strace", "\"strace\" is not one of auto|bpf|ptrace"},
	{"--only mallok", "\"mallok\" is neither a family"},
	{"--only malloc,neww", "(did you mean new?)"},
	{"--only new -n prog", "--nocpp excludes everything"},
	{"-s usgae", "(did you mean usage?)"},
	{"--top -1", "\"-1\" is not a number"},
	{"--buffer 65535", "\"65535\" is not a size from 64k to 1g"},
	{"--buffer 2g", "\"2g\" is not a size"},
	{"--ignore=", "--ignore: is empty"},
	{"--ignore /(/", "--ignore: cannot use \"/(/\" as a regular expression: "},
	{"--suppressions tests/fuzz/corpus/code/malloc", "--suppressions: tests/fuzz/corpus/code/"},
	{"--format jsn", "\"jsn\" is not a format (did you mean json?)"},
	{"--format json=", "\"json=\" names no file"},
	{"--format json=f -o f", "two reports cannot go to the same file"},
	{"--output=", "--output: is empty"},
	{"-p 1 prog", "cannot combine --pid with a program to launch (prog)"},
	{"-p 1 -u me", "--user needs a program to launch"},
	{"-p 1 -c /", "--cwd needs a program to launch"},
	{"--scan-every 5 x", "not a duration"},
	{"--scan-every 1ms x", "100ms"},
	{"--align 3 x", "not one of 1|2|4|8"},
	{"--error-exitcode 0 x", "from 1 to 255"},
	{"--leak-kinds possibel x", "--leak-kinds: \"possibel\" is not one of definite, indirect, "
				    "possible, stack-only, reachable, unknown, "
				    "all, none (did you mean possible?)"},
	{"--leak-kinds definite,lost x", "\"lost\" is not one of definite, "},
	{"--leak-kinds definite,,all x", "\"\" is not one of definite, "},
	{"--leak-kinds= x", "\"\" is not one of definite, "},
};

static void test_suppressions(void **state)
{
	struct line line;

	(void)state;
	assert_right(&line,
		     "--ignore a --ignore /b/ --suppressions tests/fuzz/corpus/suppress/blocks");
	assert_non_null(line.options.suppressions);
	options_free(&line.options);
	assert_right(&line, "-q");
	assert_null(line.options.suppressions);
	options_free(&line.options);
	line_parse(&line, "--suppressions /nowhere/at/all");
	assert_int_equal(line.code, -ENOENT);
	assert_string_equal(line.err.text, "--suppressions: cannot read /nowhere/at/all: No such "
					   "file or directory");
	options_free(&line.options);
}

static void test_errors_are_explained(void **state)
{
	struct line line;

	(void)state;
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		line_parse(&line, wrongs[i].line);
		if (line.code != -EINVAL || !strstr(line.err.text, wrongs[i].words))
			fail_msg("%s: %d, %s", wrongs[i].line, line.code, line.err.text);
		assert_null(strchr(line.err.text, '\n'));
		options_free(&line.options);
	}
}

static void test_long_nonsense_is_survived(void **state)
{
	char word[5000], *words[] = {word, NULL};
	static const char *const beginnings[] = {
		"--", "-p", "--format=", "--only=", "--sort=", "-d", "--leak-kinds="};
	struct options options;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		size_t used = strlen(beginnings[i]);

		memcpy(word, beginnings[i], used);
		memset(word + used, 'z', sizeof(word) - used - 1);
		word[sizeof(word) - 1] = '\0';
		assert_int_equal(options_parse(&options, words, &err), -EINVAL);
		options_free(&options);
	}
}

static void test_edit_distance(void **state)
{
	static const struct {
		const char *a, *b;
		size_t truth;
	} pairs[] = {
		{"", "", 0},
		{"depth", "depth", 0},
		{"dept", "depth", 1},
		{"depht", "depth", 1},
		{"depth", "dxpth", 1},
		{"", "abc", 3},
		{"kitten", "sitting", 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_int_equal(edit_distance(pairs[i].a, pairs[i].b), pairs[i].truth);
		assert_int_equal(edit_distance(pairs[i].b, pairs[i].a), pairs[i].truth);
	}
}

static void test_distant_words_are_not_suggested(void **state)
{
	struct suggestion suggestion = {.word = "frobnicate"};

	(void)state;
	suggestion_offer(&suggestion, "format");
	assert_null(suggestion_best(&suggestion));
	suggestion_offer(&suggestion, "frobnicated");
	assert_string_equal(suggestion_best(&suggestion), "frobnicated");
}

static void test_names_and_letters_are_unique(void **state)
{
	const struct option_row *row;

	(void)state;
	for (size_t i = 0; (row = option_at(i)); i++) {
		assert_ptr_equal(option_by_name(row->name, strlen(row->name)), row);
		if (row->letter)
			assert_ptr_equal(option_by_letter(row->letter), row);
		assert_true(row->group < GROUP_COUNT);
		assert_non_null(row->set);
	}
}

static void test_help_fits_and_is_complete(void **state)
{
	char *text = NULL, heading[OPTION_HEADING_SIZE];
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const struct option_row *row;

	(void)state;
	assert_non_null(out);
	help_print(out, false);
	fclose(out);
	for (size_t i = 0; (row = option_at(i)); i++)
		if (!strstr(text, option_heading(row, heading)))
			fail_msg("not in the help text: %s", heading);
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		if (strcspn(line, "\n") > HELP_WIDTH)
			fail_msg("too wide: %.*s", (int)strcspn(line, "\n"), line);
	free(text);
}

/* One line of the man page as readers see it: without fonts, with plain hyphens. */
static void roff_plain(const char *line, char *ret_plain)
{
	while (*line && *line != '\n') {
		if (line[0] == '\\' && line[1] == 'f' && line[2]) {
			line += 3;
			continue;
		}
		if (line[0] == '\\' && line[1])
			line++;
		*ret_plain++ = *line++;
	}
	*ret_plain = '\0';
}

static const struct option_row *row_of_heading(const char *heading)
{
	char text[OPTION_HEADING_SIZE];
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)); i++)
		if (!strcmp(option_heading(row, text), heading))
			break;
	return row;
}

/* Everything that looks like a long option must be one. */
static void mentions_check(const char *plain)
{
	for (const char *at = plain; (at = strstr(at, "--")); at++) {
		size_t length = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");

		if (!length || !strncmp(at, "--its-own-option", 16) ||
		    (at > plain && at[-1] == '-'))
			continue;
		if (!option_by_name(at + 2, length))
			fail_msg("the man page tells of an option that is none: %s", plain);
	}
}

static void test_man_page_and_table_agree(void **state)
{
	char line[512], plain[512];
	size_t documented = 0, options = 0;
	FILE *page = fopen(MAN_PAGE, "re");
	bool heading = false, version = false;

	(void)state;
	if (!page)
		fail_msg("%s is missing; run from the top of the tree", MAN_PAGE);
	while (fgets(line, sizeof(line), page)) {
		roff_plain(line, plain);
		mentions_check(plain);
		if (heading && plain[0] == '-') {
			if (!row_of_heading(plain))
				fail_msg("in the man page, not in the table: %s", plain);
			documented++;
		}
		heading = !strcmp(plain, ".TP");
		version |= strstr(plain, "mtrace-bpf " MTRACE_VERSION) != NULL;
	}
	fclose(page);
	while (option_at(options))
		options++;
	assert_int_equal(documented, options);
	assert_true(version);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_pids_are_lists_without_duplicates),
		cmocka_unit_test(test_pids_of_pidof_have_blanks),
		cmocka_unit_test(test_every_form_of_an_argument),
		cmocka_unit_test(test_every_option_is_stored),
		cmocka_unit_test(test_scans),
		cmocka_unit_test(test_leak_kinds),
		cmocka_unit_test(test_options_end_where_the_program_begins),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_suppressions),
		cmocka_unit_test(test_errors_are_explained),
		cmocka_unit_test(test_long_nonsense_is_survived),
		cmocka_unit_test(test_edit_distance),
		cmocka_unit_test(test_distant_words_are_not_suggested),
		cmocka_unit_test(test_names_and_letters_are_unique),
		cmocka_unit_test(test_help_fits_and_is_complete),
		cmocka_unit_test(test_man_page_and_table_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
