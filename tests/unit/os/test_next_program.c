/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the programs that a command executes. Other roots need privileges: see tests/runtime. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/exec/next_program.h"

#define WORDS 24

static bool has(const struct needed *needed, const char *path)
{
	char *real = realpath(path, NULL);
	bool found = false;

	assert_non_null(real);
	for (size_t i = 0; i < needed->count; i++)
		found |= !strcmp(needed->paths[i], real);
	free(real);
	return found;
}

static struct needed find(const char *const *command)
{
	char *environment[] = {NULL};
	struct needed needed = {0};

	assert_int_equal(
		next_programs_find(getpid(), (char *const *)command, environment, NULL, &needed),
		0);
	return needed;
}

static void test_commands_without_programs(void **state)
{
	static const char *const commands[][WORDS] = {
		{"make", NULL},
		{"make", "-j2", "no-such-program", NULL},
		{"make", "/etc/passwd", "/", "", NULL},
		{"make", "--shell=/bin/sh", "-sh", NULL},
		/* too many words before it */
		{"make", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-",
		 "sh", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct needed needed = find(commands[i]);

		assert_int_equal(needed.count, 0);
		needed_free(&needed);
	}
}

static void test_nested_commands(void **state)
{
	static const char *const command[] = {"nice", "-n", "5", "env", "A=1",
					      "sh",   "-c", "x", NULL};
	struct needed needed = find(command);

	(void)state;
	assert_true(has(&needed, "/usr/bin/env"));
	assert_true(has(&needed, "/bin/sh"));
	assert_false(has(&needed, "/usr/bin/nice")); /* already known */
	needed_free(&needed);
}

/* If the root does not exist, no programs are found, not even ours of the same names. */
static void test_no_such_root(void **state)
{
	static const char *const commands[][WORDS] = {
		{"chroot", "/no/such/root", "sh", NULL},
		{"/usr/sbin/chroot", "--userspec=0:0", "/no/such/root", "sh", NULL},
		{"unshare", "-m", "-R", "/no/such/root", "sh", NULL},
		{"unshare", "--root=/no/such/root", "sh", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct needed needed = find(commands[i]);

		assert_int_equal(needed.count, 0);
		needed_free(&needed);
	}
}

static void test_own_root_and_directory_are_unchanged(void **state)
{
	static const char *const command[] = {"chroot", "/usr", "sh", NULL};
	char before[4096], after[4096];
	struct needed needed;

	(void)state;
	assert_non_null(getcwd(before, sizeof(before)));
	needed = find(command);
	assert_non_null(getcwd(after, sizeof(after)));
	assert_string_equal(before, after);
	assert_int_equal(access("/usr/bin", F_OK), 0);
	needed_free(&needed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands_without_programs),
		cmocka_unit_test(test_nested_commands),
		cmocka_unit_test(test_no_such_root),
		cmocka_unit_test(test_own_root_and_directory_are_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
