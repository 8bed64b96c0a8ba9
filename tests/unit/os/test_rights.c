// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files can be opened with the rights of another user, and which not even with ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file/regular.h"
#include "os/process/rights.h"
#include "tests/unit/scratch.h"

#define USER  12345
#define GROUP 12346
#define OTHER 12347

/* A file with this owner, group and mode. */
static const char *create(struct scratch *scratch, uid_t uid, gid_t gid, mode_t mode)
{
	const char *path = scratch_path(scratch, "file");
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, uid, gid), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	return path;
}

static int open_with(const struct rights *rights, const char *path)
{
	int fd = rights_open_regular(rights, path, NULL);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void expect_root_again(void)
{
	assert_int_equal(setfsuid(-1), 0);
	assert_int_equal(setfsgid(-1), 0);
	assert_int_equal(access("/proc/1/environ", R_OK), 0);
}

static void test_only_what_the_user_can_read_is_opened(void **state)
{
	gid_t groups[] = {OTHER, GROUP};
	const struct rights user = {.uid = USER, .gid = OTHER};
	const struct rights member = {USER, OTHER, groups, 2};
	const struct rights everyone = rights_of_everyone();

	if (geteuid())
		skip();
	assert_int_equal(open_with(&user, create(*state, 0, 0, 0600)), -EACCES);
	expect_root_again();
	assert_int_equal(open_with(&user, create(*state, 0, 0, 0604)), 0);
	assert_int_equal(open_with(&user, create(*state, USER, 0, 0400)), 0);
	assert_int_equal(open_with(&user, create(*state, 0, GROUP, 0640)), -EACCES);
	assert_int_equal(open_with(&member, create(*state, 0, GROUP, 0640)), 0);
	assert_int_equal(open_with(&everyone, create(*state, USER, 0, 0440)), -EACCES);
	assert_int_equal(open_with(&everyone, create(*state, USER, 0, 0444)), 0);
	expect_root_again();
}

static void test_a_link_leads_only_to_what_the_user_can_read(void **state)
{
	const struct rights user = {.uid = USER, .gid = USER};
	char *path = strdup(create(*state, geteuid(), getegid(), 0600));
	char *link = strdup(scratch_path(*state, "link"));

	if (geteuid())
		skip();
	assert_true(path && link);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(lchown(link, USER, USER), 0);
	assert_int_equal(open_with(&user, link), -EACCES);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(open_with(&user, link), 0);
	free(link);
	free(path);
}

static void test_rights_of_the_author_are_those_of_the_owner(void **state)
{
	struct stat file = {.st_uid = USER, .st_gid = GROUP, .st_mode = S_IFREG | 0755};

	(void)state;
	assert_int_equal(rights_of_author(&file).uid, USER);
	assert_int_not_equal(rights_of_author(&file).gid, GROUP);
	file.st_mode |= S_IWGRP;
	assert_int_equal(rights_of_author(&file).uid, rights_of_everyone().uid);
	file.st_gid = USER; /* a group of its own */
	assert_int_equal(rights_of_author(&file).uid, USER);
	file.st_mode = S_IFREG | 0757;
	assert_int_equal(rights_of_author(&file).uid, rights_of_everyone().uid);
}

static void test_rights_of_a_process_include_its_groups(void **state)
{
	const gid_t groups[] = {GROUP, OTHER};
	struct rights rights = {0};
	int ready[2], done[2];
	char byte;
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(pipe(ready) | pipe(done), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (setgroups(2, groups) || setgid(GROUP) || setuid(USER) ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		close(done[1]);
		_exit(read(done[0], &byte, 1) != 0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(rights_of_process(pid, &rights), 0);
	assert_int_equal(rights.uid, USER);
	assert_int_equal(rights.gid, GROUP);
	assert_int_equal(rights.group_count, 2);
	rights_free(&rights);
	close(done[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(rights_of_process(pid, &rights), -ESRCH);
}

static void test_kernel_interfaces_are_no_regular_files(void **state)
{
	static const char *const paths[] = {"/proc/kmsg", "/proc/self/maps", "/sys/kernel/notes",
					    "/sys/fs/cgroup/cgroup.procs"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!access(paths[i], F_OK))
			assert_int_equal(file_open_regular(paths[i], NULL), -EACCES);
}

/* The kernel lets the opener of a leased file wait until the holder gives it up. */
static void test_a_lease_is_not_waited_for(void **state)
{
	const char *path = create(*state, geteuid(), getegid(), 0644);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	signal(SIGIO, SIG_IGN);
	assert_true(fd >= 0);
	if (!fcntl(fd, F_SETLEASE, F_WRLCK))
		assert_int_equal(file_open_regular(path, NULL), -EAGAIN);
	close(fd);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SCRATCH(test_only_what_the_user_can_read_is_opened),
		WITH_SCRATCH(test_a_link_leads_only_to_what_the_user_can_read),
		cmocka_unit_test(test_rights_of_the_author_are_those_of_the_owner),
		cmocka_unit_test(test_rights_of_a_process_include_its_groups),
		cmocka_unit_test(test_kernel_interfaces_are_no_regular_files),
		WITH_SCRATCH(test_a_lease_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
