/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/memory/limit.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "os/memory/resident.h"
#include "os/process/procfs.h"

/* A cgroup hierarchy that can limit memory. */
static const struct hierarchy {
	const char *controllers; /* as listed in /proc/PID/cgroup; version 2 lists none */
	const char *folder;      /* usual name of its directory below the cgroup mount point */
	const char *limit;
	const char *usage;
	const char *reclaimable[4]; /* lines of memory.stat: makes room when memory is needed */
} hierarchies[] = {
	{"",
	 "",
	 "memory.max",
	 "memory.current",
	 {"inactive_file", "active_file", "slab_reclaimable"}},
	{"memory",
	 "/memory",
	 "memory.limit_in_bytes",
	 "memory.usage_in_bytes",
	 {"total_inactive_file", "total_active_file"}},
};

/* One cgroup: the path of its directory. */
struct limiting_cgroup {
	const struct hierarchy *hierarchy;
	char path[PATH_MAX];
};

static FILE *cgroup_open(const struct limiting_cgroup *cgroup, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", cgroup->path, name);
	return fopen(path, "re");
}

/* Returns UINT64_MAX for "max", or if there is no number. Version 1 has no such word; it uses a
 * number larger than any memory. */
static uint64_t read_number(const struct limiting_cgroup *cgroup, const char *name)
{
	FILE *file = cgroup_open(cgroup, name);
	char text[32] = "";
	char *end;
	uint64_t number;

	if (!file)
		return UINT64_MAX;
	if (!fgets(text, sizeof(text), file))
		*text = '\0';
	fclose(file);
	errno = 0;
	number = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !errno && (*end == '\n' || !*end) ? number
										  : UINT64_MAX;
}

static bool is_reclaimable(const struct hierarchy *hierarchy, const char *name)
{
	const char *const *line = hierarchy->reclaimable;

	while (*line && strcmp(name, *line) != 0)
		line++;
	return *line;
}

static uint64_t read_reclaimable(const struct limiting_cgroup *cgroup)
{
	FILE *file = cgroup_open(cgroup, "memory.stat");
	uint64_t bytes, sum = 0;
	char line[128], name[64];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %" SCNu64, name, &bytes) == 2 &&
		    is_reclaimable(cgroup->hierarchy, name))
			sum += bytes;
	if (file)
		fclose(file);
	return sum;
}

static uint64_t limit_of_cgroup(const struct limiting_cgroup *cgroup)
{
	return read_number(cgroup, cgroup->hierarchy->limit);
}

static uint64_t rest_of_cgroup(const struct limiting_cgroup *cgroup)
{
	uint64_t limit = limit_of_cgroup(cgroup), reclaimable;
	uint64_t used = read_number(cgroup, cgroup->hierarchy->usage);

	if (limit == UINT64_MAX || used == UINT64_MAX)
		return limit;
	reclaimable = read_reclaimable(cgroup);
	used -= reclaimable < used ? reclaimable : used;
	return used < limit ? limit - used : 0;
}

typedef uint64_t measure_fn(const struct limiting_cgroup *cgroup);

/* Returns the least of a cgroup and its ancestors. Truncates `path` on the way. */
static uint64_t least_of_ancestors(const struct hierarchy *hierarchy, const char *mounted,
				   char *path, measure_fn *measure)
{
	struct limiting_cgroup cgroup = {.hierarchy = hierarchy};
	char *slash = path + strlen(path);
	uint64_t least = UINT64_MAX;

	do {
		uint64_t measured;

		*slash = '\0';
		snprintf(cgroup.path, sizeof(cgroup.path), "%s%s%s", mounted, hierarchy->folder,
			 path);
		measured = measure(&cgroup);
		least = measured < least ? measured : least;
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
static uint64_t least_of_line(char *line, const char *mounted, measure_fn *measure)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path)
		return UINT64_MAX;
	*path++ = '\0';
	controllers++;
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++)
		if (is_among(controllers, hierarchies[i].controllers))
			return least_of_ancestors(&hierarchies[i], mounted, path, measure);
	return UINT64_MAX;
}

static uint64_t least_of(const char *text, const char *mounted, measure_fn *measure)
{
	char *copy = strdup(text), *line, *rest = copy;
	uint64_t least = UINT64_MAX;

	while (rest && (line = strsep(&rest, "\n"))) {
		uint64_t measured = least_of_line(line, mounted, measure);

		least = measured < least ? measured : least;
	}
	free(copy);
	return least;
}

uint64_t memory_limit_of(const char *text, const char *mounted)
{
	return least_of(text, mounted, limit_of_cgroup);
}

uint64_t memory_left_of(const char *text, const char *mounted)
{
	return least_of(text, mounted, rest_of_cgroup);
}

/* Returns the least of `machine` and what `of` says about our cgroup. */
static uint64_t with_cgroup(uint64_t machine, uint64_t (*of)(const char *, const char *))
{
	uint64_t ours;
	size_t size;
	char *text;

	if (procfs_read(getpid(), "cgroup", &text, &size))
		return machine;
	ours = of(text, "/sys/fs/cgroup");
	free(text);
	return ours < machine ? ours : machine;
}

uint64_t memory_limit(void)
{
	uint64_t limit = UINT64_MAX;
	struct sysinfo machine;

	if (!sysinfo(&machine))
		limit = (uint64_t)machine.totalram * machine.mem_unit;
	return with_cgroup(limit, memory_limit_of);
}

uint64_t memory_left(void)
{
	uint64_t available;

	return with_cgroup(resident_available(&available) ? UINT64_MAX : available, memory_left_of);
}
