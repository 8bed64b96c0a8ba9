/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shell's lines, name matching and command table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/shell/arguments.h"
#include "app/shell/commands.h"
#include "app/shell/state.h"

/* The words as "a|b|c". The caller frees the string. */
static char *joined(const struct shell_words *words)
{
	char *text = calloc(1, 1024);

	assert_non_null(text);
	for (size_t i = 0; i < words->count; i++)
		sprintf(text + strlen(text), "%s%s", i ? "|" : "", words->words[i]);
	assert_null(words->words[words->count]);
	return text;
}

static void assert_redirect(const char *line, const char *expected, enum redirect redirect,
			    const char *target)
{
	struct shell_words words;
	struct error err;
	char *text;

	if (shell_words_parse(&words, line, &err))
		fail_msg("%s: %s", line, err.text);
	text = joined(&words);
	assert_string_equal(text, expected);
	free(text);
	assert_int_equal(words.redirect, redirect);
	if (target)
		assert_string_equal(words.target, target);
	shell_words_free(&words);
}

static void assert_words(const char *line, const char *expected)
{
	assert_redirect(line, expected, REDIRECT_NONE, NULL);
}

static void test_words(void **state)
{
	(void)state;
	assert_words("", "");
	assert_words(" \t \r", "");
	assert_words("# a comment", "");
	assert_words("dump", "dump");
	assert_words("  dump\tusage  12 ", "dump|usage|12");
	assert_words("dump # all of it", "dump");
	assert_words("site 4#5", "site|4#5");
	assert_words("grep 'a b' \"c 'd\"", "grep|a b|c 'd");
	assert_words("grep a\\ b", "grep|a b");
	assert_words("grep \"a\\\"b\"", "grep|a\"b");
	assert_words("grep 'a\\b'", "grep|a\\b");
	assert_words("grep ''", "grep|");
	assert_words("grep a'b c'd", "grep|ab cd");
	assert_words("grep '>|'", "grep|>|");
	assert_words("grep a\\", "grep|a\\");
	assert_words("grep \xff\xfe", "grep|\xff\xfe");
}

static void test_redirects(void **state)
{
	(void)state;
	assert_redirect("dump > file", "dump", REDIRECT_FILE, "file");
	assert_redirect("dump>file", "dump", REDIRECT_FILE, "file");
	assert_redirect("dump -l>'my file'  ", "dump|-l", REDIRECT_FILE, "my file");
	assert_redirect("dump >> file # comment", "dump", REDIRECT_APPEND, "file");
	assert_redirect("dump | grep '>' | head -3", "dump", REDIRECT_PIPE, "grep '>' | head -3");
	assert_redirect("dump|wc", "dump", REDIRECT_PIPE, "wc");
}

static void assert_wrong(const char *line, const char *reason)
{
	struct shell_words words;
	struct error err = {0};

	assert_int_equal(shell_words_parse(&words, line, &err), -EINVAL);
	if (!strstr(err.text, reason))
		fail_msg("%s: %s", line, err.text);
	shell_words_free(&words);
}

static void test_invalid_lines(void **state)
{
	char many[256] = "";

	(void)state;
	assert_wrong("grep 'a", "missing closing '");
	assert_wrong("grep \"a\\\"", "missing closing \"");
	assert_wrong("dump >", "no file");
	assert_wrong("dump > 'a", "missing closing");
	assert_wrong("dump > a b", "unexpected text after");
	assert_wrong("dump > a > b", "unexpected text after");
	assert_wrong("dump |  ", "no command after");
	assert_wrong("> file", "no command before");
	assert_wrong("| wc", "no command before");
	for (int i = 0; i <= SHELL_WORDS_MAX; i++)
		strcat(many, "a ");
	assert_wrong(many, "more than");
}

/* The longest line that is accepted, as many short words and as one word. */
static void test_long_lines(void **state)
{
	char *line = calloc(1, SHELL_LINE_MAX + 1);
	struct shell_words words;
	struct error err;

	(void)state;
	assert_non_null(line);
	memset(line, 'a', SHELL_LINE_MAX);
	assert_int_equal(shell_words_parse(&words, line, &err), 0);
	assert_int_equal(words.count, 1);
	assert_int_equal(strlen(words.words[0]), SHELL_LINE_MAX);
	shell_words_free(&words);
	assert_null(shell_command_find(line, &err));
	assert_true(strlen(err.text) < 200);
	memset(line, '>', SHELL_LINE_MAX);
	assert_int_equal(shell_words_parse(&words, line, &err), -EINVAL);
	shell_words_free(&words);
	free(line);
}

/* For random lines, nothing crashes, and every word is a part of the line. */
static void test_random_lines(void **state)
{
	static const char alphabet[] = "ab 'b\"\\>|#\t\x80";
	char line[64];

	(void)state;
	srandom(3);
	for (int i = 0; i < 200000; i++) {
		size_t length = (size_t)random() % sizeof(line);
		struct shell_words words;
		struct error err;
		size_t bytes = 0;

		for (size_t at = 0; at < length; at++)
			line[at] = alphabet[(size_t)random() % (sizeof(alphabet) - 1)];
		line[length ? length - 1 : 0] = '\0';
		if (!shell_words_parse(&words, line, &err))
			for (size_t at = 0; at < words.count; at++)
				bytes += strlen(words.words[at]);
		assert_true(bytes <= sizeof(line));
		shell_words_free(&words);
	}
}

/* ---- names ---- */

static const char *fruit(size_t index)
{
	static const char *const names[] = {"apple", "apricot", "fig", "figs", " plum", NULL};

	return names[index];
}

static void test_prefixes(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(shell_name_find("fruit", "apple", fruit, &err), 0);
	assert_int_equal(shell_name_find("fruit", "apr", fruit, &err), 1);
	assert_int_equal(shell_name_find("fruit", "fig", fruit, &err), 2);
	assert_int_equal(shell_name_find("fruit", "plum", fruit, &err), 4);
	assert_int_equal(shell_name_find("fruit", "ap", fruit, &err), -EINVAL);
	assert_string_equal(err.text, "\"ap\" is ambiguous: apple, apricot");
	assert_int_equal(shell_name_find("fruit", "pl", fruit, &err), -EINVAL);
	assert_int_equal(shell_name_find("fruit", "", fruit, &err), -EINVAL);
	assert_string_equal(err.text, "unknown fruit \"\"");
	assert_int_equal(shell_name_find("fruit", "aple", fruit, &err), -EINVAL);
	assert_string_equal(err.text, "unknown fruit \"aple\" (did you mean apple?)");
	assert_int_equal(shell_name_find("fruit", "a\x1b[2J", fruit, &err), -EINVAL);
	assert_string_equal(err.text, "unknown fruit \"a\\x1b[2J\"");
}

static void test_commands(void **state)
{
	const struct shell_command *command;
	struct error err;

	(void)state;
	for (size_t i = 0; (command = shell_command_at(i)); i++) {
		const char *name = command->name + (command->name[0] == ' ');

		assert_ptr_equal(shell_command_find(name, &err), command);
		assert_non_null(command->run);
		if (name == command->name)
			assert_true(*command->help);
	}
	assert_null(shell_command_find("st", &err));
	assert_non_null(strstr(err.text, "ambiguous: status, stop, start"));
	assert_string_equal(shell_command_find("sta", &err) ? "" : err.text,
			    "\"sta\" is ambiguous: status, start");
	assert_string_equal(shell_command_find("q", &err)->name, "quit");
	assert_string_equal(shell_command_find("exit", &err)->name, " exit");
}

/* ---- arguments ---- */

static void assert_chosen(char *const *words, unsigned int takes, pid_t pid, enum sort_key sort)
{
	struct shell shell = {.settings = {.pid = 5, .sort = SORT_TOTAL}};
	struct shell_choice choice;
	struct error err;

	assert_int_equal(shell_choose(&shell, words, takes, &choice, &err), 0);
	assert_int_equal(choice.pid, pid);
	assert_int_equal(choice.sort, sort);
}

static void test_arguments(void **state)
{
	char *none[] = {NULL}, *both[] = {"leaks", "12", NULL}, *prefix[] = {"all", "us", NULL};
	char *bad[] = {"-l", NULL}, *zero[] = {"0", NULL}, *huge[] = {"99999999999", NULL};
	unsigned int all = SHELL_TAKES_PID | SHELL_TAKES_SORT;
	struct shell shell = {0};
	struct shell_choice choice;
	struct error err;

	(void)state;
	assert_chosen(none, all, 5, SORT_TOTAL);
	assert_chosen(both, all, 12, SORT_LEAKS);
	assert_chosen(prefix, all, 0, SORT_USAGE);
	assert_int_equal(shell_choose(&shell, bad, SHELL_TAKES_PID, &choice, &err), -EINVAL);
	assert_int_equal(shell_choose(&shell, zero, all, &choice, &err), -EINVAL);
	assert_int_equal(shell_choose(&shell, huge, all, &choice, &err), -EINVAL);
	assert_int_equal(shell_choose(&shell, bad, SHELL_TAKES_LONG, &choice, &err), 0);
	assert_true(choice.long_frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),         cmocka_unit_test(test_redirects),
		cmocka_unit_test(test_invalid_lines), cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_random_lines),  cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_commands),      cmocka_unit_test(test_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
