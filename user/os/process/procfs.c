/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/process/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

#define READ_CHUNK 4096

void procfs_path(char path[PROCFS_PATH_SIZE], pid_t pid, const char *name)
{
	snprintf(path, PROCFS_PATH_SIZE, "/proc/%d/%s", (int)pid, name);
}

int procfs_open(pid_t pid, const char *name)
{
	char path[PROCFS_PATH_SIZE];
	int fd;

	procfs_path(path, pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

struct procfs_text {
	char *items;
	size_t count;
	size_t capacity;
};

static int text_read(struct procfs_text *text, int fd)
{
	ssize_t got;

	do {
		if (vec_reserve(text, text->count + READ_CHUNK + 1))
			return -ENOMEM;
		got = read(fd, text->items + text->count, READ_CHUNK);
		if (got < 0)
			return -errno;
		text->count += (size_t)got;
	} while (got);
	text->items[text->count] = '\0';
	return 0;
}

int procfs_read(pid_t pid, const char *name, char **ret_text, size_t *ret_size)
{
	struct procfs_text text = {0};
	int fd = procfs_open(pid, name);
	int err;

	if (fd < 0)
		return fd;
	err = text_read(&text, fd);
	close(fd);
	if (err) {
		vec_free(&text);
		return err;
	}
	*ret_text = text.items;
	*ret_size = text.count;
	return 0;
}

int procfs_read_link(pid_t pid, const char *name, char **ret_target)
{
	char path[PROCFS_PATH_SIZE];
	char target[PATH_MAX + 1];
	ssize_t length;

	procfs_path(path, pid, name);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	target[length] = '\0';
	*ret_target = strdup(target);
	return *ret_target ? 0 : -ENOMEM;
}

bool procfs_cut_deleted(char *path)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path);

	if (length < sizeof(suffix) || strcmp(path + length - strlen(suffix), suffix))
		return false;
	path[length - strlen(suffix)] = '\0';
	return true;
}
