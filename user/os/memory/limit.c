/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/memory/limit.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "os/process/procfs.h"

/* A cgroup hierarchy that can limit memory. */
static const struct hierarchy {
	const char *controllers; /* as listed in /proc/PID/cgroup; version 2 lists none */
	const char *folder;      /* usual name of its directory below the cgroup mount point */
	const char *file;
} hierarchies[] = {
	{"", "", "memory.max"},
	{"memory", "/memory", "memory.limit_in_bytes"},
};

/* Returns UINT64_MAX for "max". Version 1 has no such word; it uses a number larger than any
 * memory. */
static uint64_t read_limit(const char *path)
{
	FILE *file = fopen(path, "re");
	char text[32] = "";
	char *end;
	uint64_t limit;

	if (!file)
		return UINT64_MAX;
	if (!fgets(text, sizeof(text), file))
		*text = '\0';
	fclose(file);
	errno = 0;
	limit = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !errno && (*end == '\n' || !*end) ? limit
										  : UINT64_MAX;
}

/* Returns the smallest limit of a cgroup and its ancestors. Truncates `path` on the way. */
static uint64_t least_limit(const struct hierarchy *hierarchy, const char *mounted, char *path)
{
	uint64_t least = UINT64_MAX;
	char *slash = path + strlen(path);

	do {
		char full[PATH_MAX];
		uint64_t limit;

		*slash = '\0';
		snprintf(full, sizeof(full), "%s%s%s/%s", mounted, hierarchy->folder, path,
			 hierarchy->file);
		limit = read_limit(full);
		least = limit < least ? limit : least;
		slash = strrchr(path, '/');
	} while (slash);
	return least;
}

/* Returns true if `list`, for example "cpu,memory", contains `name`. */
static bool is_among(const char *list, const char *name)
{
	size_t size = strlen(name);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, name, size) && (!list[size] || list[size] == ','))
			return true;
	}
	return false;
}

/* The format of a line is "ID:CONTROLLERS:PATH". */
static uint64_t limit_of_line(char *line, const char *mounted)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path)
		return UINT64_MAX;
	*path++ = '\0';
	controllers++;
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++)
		if (is_among(controllers, hierarchies[i].controllers))
			return least_limit(&hierarchies[i], mounted, path);
	return UINT64_MAX;
}

uint64_t memory_limit_of(const char *text, const char *mounted)
{
	char *copy = strdup(text), *line, *rest = copy;
	uint64_t least = UINT64_MAX;

	while (rest && (line = strsep(&rest, "\n"))) {
		uint64_t limit = limit_of_line(line, mounted);

		least = limit < least ? limit : least;
	}
	free(copy);
	return least;
}

uint64_t memory_limit(void)
{
	uint64_t limit = UINT64_MAX, ours;
	struct sysinfo machine;
	size_t size;
	char *text;

	if (!sysinfo(&machine))
		limit = (uint64_t)machine.totalram * machine.mem_unit;
	if (procfs_read(getpid(), "cgroup", &text, &size))
		return limit;
	ours = memory_limit_of(text, "/sys/fs/cgroup");
	free(text);
	return ours < limit ? ours : limit;
}
