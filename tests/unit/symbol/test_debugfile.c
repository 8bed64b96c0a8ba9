// SPDX-License-Identifier: GPL-2.0-or-later
/* Which separate debug files are found, in which order; and a race with the author of a program,
 * who exchanges a debug file for a link to a file of root (renameat2(2)). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbol/names/debugfile.h"
#include "tests/unit/exchange.h"
#include "tests/unit/scratch.h"

#define AUTHOR 12345
#define ROUNDS 20000

static const char elf[] = "\177ELF and so on";

static void write_elf(struct scratch *scratch, const char *name, uid_t owner, mode_t mode)
{
	scratch_write(scratch, name, elf, sizeof(elf), mode);
	assert_int_equal(chmod(scratch_path(scratch, name), mode), 0);
	if (!geteuid())
		assert_int_equal(chown(scratch_path(scratch, name), owner, owner), 0);
}

static struct module open_program(struct scratch *scratch)
{
	struct module module = {.path = strdup(scratch_path(scratch, "p"))};

	assert_non_null(module.path);
	module.fd = open(module.path, O_RDONLY | O_CLOEXEC);
	assert_true(module.fd >= 0);
	return module;
}

static void close_program(struct module *module)
{
	close(module->fd);
	free(module->path);
}

/* The number of a candidate is its place in the search; the search counts those before it. */
static void test_candidates_are_numbered(void **state)
{
	struct scratch *scratch = *state;
	struct debug_search search = {0};
	struct debug_want want = {.link = "q"};
	struct module module;
	int fd;

	write_elf(scratch, "p", 0, 0755);
	write_elf(scratch, "q", 0, 0644);
	assert_int_equal(mkdir(scratch_path(scratch, ".debug"), 0755), 0);
	write_elf(scratch, ".debug/q", 0, 0644);
	module = open_program(scratch);
	fd = debug_search_find(&search, &module, &want);
	assert_true(fd >= 0);
	assert_string_equal(search.found, scratch_path(scratch, "q"));
	close(fd);
	want.candidate = 1;
	fd = debug_search_find(&search, &module, &want);
	assert_true(fd >= 0);
	assert_string_equal(search.found, scratch_path(scratch, ".debug/q"));
	assert_int_equal(search.passed, 1);
	close(fd);
	want.candidate = 2;
	assert_int_equal(debug_search_find(&search, &module, &want), -1);
	assert_int_equal(search.passed, 2);
	want.candidate = 5;
	assert_int_equal(debug_search_find(&search, &module, &want), -1);
	assert_int_equal(search.passed, 2);
	debug_search_end(&search);
	close_program(&module);
}

static void test_alternate_of_root_must_be_readable_for_everyone(void **state)
{
	struct scratch *scratch = *state;
	const struct debug_want want = {.alternate = true, .link = "../a"};
	struct debug_search search = {0};
	struct module module;
	int fd;

	if (geteuid())
		skip();
	assert_int_equal(mkdir(scratch_path(scratch, "d"), 0755), 0);
	write_elf(scratch, "p", 0, 0755);
	write_elf(scratch, "a", 0, 0600);
	search.found = strdup(scratch_path(scratch, "d/found"));
	module = open_program(scratch);
	assert_int_equal(debug_search_find(&search, &module, &want), -1);
	write_elf(scratch, "a", 0, 0604);
	fd = debug_search_find(&search, &module, &want);
	assert_true(fd >= 0);
	close(fd);
	debug_search_end(&search);
	close_program(&module);
}

static void test_race_with_a_link_is_never_won(void **state)
{
	struct scratch *scratch = *state;
	const struct debug_want want = {.link = "q"};
	struct debug_search search = {0};
	struct stat secret, opened;
	struct module module;
	unsigned int found = 0;
	pid_t author;

	if (geteuid())
		skip();
	write_elf(scratch, "p", AUTHOR, 0755);
	write_elf(scratch, "q", AUTHOR, 0644);
	write_elf(scratch, "secret", 0, 0600);
	assert_int_equal(stat(scratch_path(scratch, "secret"), &secret), 0);
	assert_int_equal(symlink("secret", scratch_path(scratch, "l")), 0);
	assert_int_equal(chown(scratch->root, AUTHOR, AUTHOR), 0);
	module = open_program(scratch);
	author = exchange_start(AUTHOR, scratch->root, "q", "l");
	for (int i = 0; i < ROUNDS; i++) {
		int fd = debug_search_find(&search, &module, &want);

		if (fd < 0)
			continue;
		assert_int_equal(fstat(fd, &opened), 0);
		assert_int_not_equal(opened.st_ino, secret.st_ino);
		found++;
		close(fd);
	}
	exchange_stop(author);
	assert_true(found > 0);
	debug_search_end(&search);
	close_program(&module);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SCRATCH(test_candidates_are_numbered),
		WITH_SCRATCH(test_alternate_of_root_must_be_readable_for_everyone),
		WITH_SCRATCH(test_race_with_a_link_is_never_won),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
