/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Used if there is no /proc: opens the path again and checks that it is still the same file. */
static int file_open_same(const char *path, const struct stat *seen)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat stat;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &stat) && stat.st_dev == seen->st_dev && stat.st_ino == seen->st_ino)
		return fd;
	close(fd);
	return -ESTALE;
}

/* Reopens an O_PATH descriptor for reading. The link in /proc leads to the same file for sure. */
static int file_reopen(int found, const char *path, const struct stat *seen)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? file_open_same(path, seen) : -errno;
}

int file_open_regular(const char *path, struct stat *ret_stat)
{
	int found = open(path, O_PATH | O_CLOEXEC);
	struct stat stat;
	int fd;

	if (found < 0)
		return -errno;
	if (fstat(found, &stat))
		fd = -errno;
	else
		fd = S_ISREG(stat.st_mode) ? file_reopen(found, path, &stat) : -EACCES;
	close(found);
	if (fd >= 0 && ret_stat)
		*ret_stat = stat;
	return fd;
}
