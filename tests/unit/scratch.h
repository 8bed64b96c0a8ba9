/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory for one test, with functions that create files and run commands in it. Failures fail
 * the test. */
#ifndef MTRACE_TESTS_SCRATCH_H
#define MTRACE_TESTS_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
	char root[64];
	char path[PATH_MAX]; /* the result of scratch_path, valid until its next call */
};

static inline int scratch_setup(void **state)
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));

	assert_non_null(scratch);
	strcpy(scratch->root, "/tmp/mtrace-unit-XXXXXX");
	assert_non_null(mkdtemp(scratch->root));
	/* Processes of other users need access. */
	assert_int_equal(chmod(scratch->root, 0755), 0);
	*state = scratch;
	return 0;
}

static inline int scratch_unlink(const char *path, const struct stat *stat, int type,
				 struct FTW *where)
{
	(void)stat;
	(void)type;
	(void)where;
	return remove(path);
}

static inline int scratch_teardown(void **state)
{
	struct scratch *scratch = *state;

	nftw(scratch->root, scratch_unlink, 16, FTW_DEPTH | FTW_PHYS);
	free(scratch);
	return 0;
}

static inline const char *scratch_path(struct scratch *scratch, const char *name)
{
	snprintf(scratch->path, sizeof(scratch->path), "%s/%s", scratch->root, name);
	return scratch->path;
}

static inline void scratch_write(struct scratch *scratch, const char *name, const void *bytes,
				 size_t size, mode_t mode)
{
	const char *path = scratch_path(scratch, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* Runs a shell command in the directory, discards its output, and returns its exit status. */
static inline int scratch_run(const struct scratch *scratch, const char *command)
{
	char line[8192];

	assert_true(snprintf(line, sizeof(line), "cd %s && { %s; } >/dev/null 2>&1", scratch->root,
			     command) < (int)sizeof(line));
	return system(line);
}

#endif
