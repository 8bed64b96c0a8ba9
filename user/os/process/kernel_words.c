/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/process/kernel_words.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "os/process/procfs.h"

#define NAME_SIZE 32

static bool is_epoll(pid_t pid, const char *descriptor)
{
	char name[NAME_SIZE], *link;
	bool found;

	snprintf(name, sizeof(name), "fd/%.10s", descriptor);
	if (procfs_read_link(pid, name, &link))
		return false;
	found = !strcmp(link, "anon_inode:[eventpoll]");
	free(link);
	return found;
}

int epoll_descriptors_find(pid_t pid, struct epoll_descriptors *ret_epolls)
{
	char path[PROCFS_PATH_SIZE];
	struct epoll_descriptors epolls = {0};
	const struct dirent *entry;
	DIR *directory;
	int err = 0;

	procfs_path(path, pid, "fd");
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(directory)))
		if (is_epoll(pid, entry->d_name))
			err = vec_push(&epolls, atoi(entry->d_name));
	closedir(directory);
	if (err)
		vec_free(&epolls);
	else
		*ret_epolls = epolls;
	return err;
}

/* Adds the hexadecimal number after each `before` that begins on a line which starts with `line`.
 */
static int add_numbers(pid_t pid, const char *name, const char *line, const char *before,
		       struct kernel_words *words)
{
	char *text, *at, *rest;
	size_t size;
	int err = procfs_read(pid, name, &text, &size);

	if (err)
		return err == -ENOMEM ? err : 0;
	rest = text;
	while (!err && (at = strsep(&rest, "\n"))) {
		const char *number = strncmp(at, line, strlen(line)) ? NULL : strstr(at, before);

		if (number)
			err = vec_push(words, strtoull(number + strlen(before), NULL, 16));
	}
	free(text);
	return err;
}

int kernel_words_read(pid_t pid, const struct epoll_descriptors *epolls, struct kernel_words *words)
{
	int err = add_numbers(pid, "timers", "signal: ", "/", words);

	for (size_t i = 0; !err && i < epolls->count; i++) {
		char name[NAME_SIZE];

		snprintf(name, sizeof(name), "fdinfo/%d", epolls->items[i]);
		err = add_numbers(pid, name, "tfd:", " data:", words);
	}
	return err;
}
