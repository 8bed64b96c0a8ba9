/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/translator.h"

#include <dirent.h>
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/translator.bpf.h"

#define LINK_SIZE 32

const char translator_words[] =
	"it runs under valgrind or qemu, and probes would kill the code that they translate";

/* Removes the last component from a path and returns it. */
static void take_name(char *path, char name[NAME_SIZE_MAX])
{
	char *slash = strrchr(path, '/');

	snprintf(name, NAME_SIZE_MAX, "%.*s", NAME_SIZE_MAX - 1, slash ? slash + 1 : path);
	*(slash ? slash : path) = '\0';
}

bool translator_is_path(const char *path)
{
	struct translator_names names = {.name = ""};
	char rest[PATH_MAX];

	snprintf(rest, sizeof(rest), "%s", path);
	take_name(rest, names.name);
	take_name(rest, names.directory);
	return is_translator(&names, strlen(names.name) + 1);
}

static bool is_link_to_one(const char *link)
{
	char path[PATH_MAX];
	ssize_t length = readlink(link, path, sizeof(path) - 1);

	if (length <= 0)
		return false;
	path[length] = '\0';
	return translator_is_path(path);
}

bool translator_is_file(int fd)
{
	char link[LINK_SIZE], magic[SELFMAG];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return is_link_to_one(link) && pread(fd, magic, SELFMAG, 0) == SELFMAG &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

bool translator_runs(pid_t pid)
{
	char link[LINK_SIZE];

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	return is_link_to_one(link);
}

pid_t translator_find(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (!found && proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid && translator_runs(pid))
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}
