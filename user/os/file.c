/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Turn an O_PATH descriptor into one for reading; by the link, it is the same file. */
static int file_reopen(int found)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
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
		fd = S_ISREG(stat.st_mode) ? file_reopen(found) : -EACCES;
	close(found);
	if (fd >= 0 && ret_stat)
		*ret_stat = stat;
	return fd;
}
