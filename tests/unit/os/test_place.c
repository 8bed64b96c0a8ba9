/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and symbolic links of other users are refused in directories of other users, even for root.
 * So is a link that somebody exchanges for the file meanwhile (renameat2(2)). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file/place.h"
#include "tests/unit/exchange.h"
#include "tests/unit/scratch.h"

#define NOBODY 65534
#define ROUNDS 20000

static char folder[4096];

static const char *in_folder(const char *name)
{
	static char path[8192];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void create(const char *name, uid_t owner)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, owner, owner), 0);
	close(fd);
}

static void link_to(const char *target, const char *name, uid_t owner)
{
	assert_int_equal(symlink(target, in_folder(name)), 0);
	assert_int_equal(lchown(in_folder(name), owner, owner), 0);
}

static int find(const char *name)
{
	struct error err = {0};
	struct place place;
	int code = place_find(&place, in_folder(name), &err);

	if (!code)
		place_free(&place);
	else
		assert_int_equal(strncmp(err.text, "cannot write ", strlen("cannot write ")), 0);
	return code;
}

static int make_folder(void **state)
{
	scratch_setup(state);
	if (geteuid()) /* only root can be somebody else, too */
		return 0;
	snprintf(folder, sizeof(folder), "%s", scratch_path(*state, "shared"));
	assert_int_equal(mkdir(folder, 0777), 0);
	assert_int_equal(chmod(folder, 01777), 0);
	create("ours", 0);
	create("theirs", NOBODY);
	link_to("/etc/passwd", "their-link", NOBODY);
	link_to("ours", "our-link", 0);
	link_to(".", "their-directory-link", NOBODY);
	assert_int_equal(mkdir(in_folder("directory"), 0700), 0);
	create("directory/theirs", NOBODY);
	return 0;
}

static void test_only_our_files_in_a_shared_directory(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(find("ours"), 0);
	assert_int_equal(find("new"), 0);
	assert_int_equal(find("our-link"), 0);
	assert_int_equal(find("theirs"), -EPERM);
	assert_int_equal(find("their-link"), -EPERM);
	assert_int_equal(find("their-directory-link/new"), -EPERM);
	assert_int_equal(find("directory"), -EISDIR);
	assert_int_equal(find("directory/new"), 0);
	assert_int_equal(find("missing/new"), -ENOENT);
	assert_int_equal(find("ours/new"), -ENOTDIR);
}

/* Nobody else can exchange a file there. */
static void test_any_file_in_a_trusted_directory(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(find("directory/theirs"), 0);
}

static void test_open_descriptor_is_written_directly(void **state)
{
	struct error err = {0};
	struct place place;
	char path[64];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
	assert_int_equal(place_find(&place, path, &err), 0);
	assert_true(place_is_special(&place));
	place_free(&place);
	close(ends[0]);
	close(ends[1]);
}

/* The link would open the other user's file for writing, with our rights. */
static void test_descriptor_of_another_user_is_refused(void **state)
{
	struct error err = {0};
	struct place place;
	char path[64], ready;
	int executed[2]; /* closed by exec */
	pid_t child;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(pipe2(executed, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		if (!setgid(NOBODY) && !setuid(NOBODY))
			execl("/bin/sleep", "sleep", "60", NULL);
		_exit(1);
	}
	close(executed[1]);
	assert_int_equal(read(executed[0], &ready, 1), 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)child);
	assert_int_equal(place_find(&place, path, &err), -EPERM);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(executed[0]);
}

static void test_loop_of_links_ends(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	link_to("loop", "loop", 0);
	assert_int_equal(find("loop"), -ELOOP);
}

static void test_only_the_created_file_is_removed(void **state)
{
	struct stat first, second;
	char other[8192];

	(void)state;
	if (geteuid())
		skip();
	create("first", 0);
	create("second", 0);
	assert_int_equal(stat(in_folder("first"), &first), 0);
	snprintf(other, sizeof(other), "%s", in_folder("second"));
	assert_int_equal(rename(other, in_folder("first")), 0);
	assert_int_equal(place_remove(in_folder("first"), first.st_dev, first.st_ino), 0);
	assert_int_equal(stat(in_folder("first"), &second), 0);
	assert_int_equal(place_remove(in_folder("first"), second.st_dev, second.st_ino), 0);
	assert_int_equal(access(in_folder("first"), F_OK), -1);
}

static void test_race_with_a_link_is_never_won(void **state)
{
	struct stat before, after;
	pid_t attacker;

	(void)state;
	if (geteuid())
		skip();
	create("directory/secret", 0);
	create("race", NOBODY);
	link_to(in_folder("directory/secret"), "race-link", NOBODY);
	assert_int_equal(stat(in_folder("directory/secret"), &before), 0);
	attacker = exchange_start(NOBODY, folder, "race", "race-link");
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(find("race"), -EPERM);
	exchange_stop(attacker);
	assert_int_equal(stat(in_folder("directory/secret"), &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_uid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_only_our_files_in_a_shared_directory,
						make_folder, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_any_file_in_a_trusted_directory, make_folder,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_open_descriptor_is_written_directly,
						make_folder, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_descriptor_of_another_user_is_refused,
						make_folder, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_loop_of_links_ends, make_folder,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_only_the_created_file_is_removed, make_folder,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_race_with_a_link_is_never_won, make_folder,
						scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
