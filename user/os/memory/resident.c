/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/memory/resident.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/memory/pagemap.h"
#include "os/process/procfs.h"

#define EXTENTS 64

int resident_bytes(pid_t pid, uint64_t *ret_bytes)
{
	uint64_t pages;
	size_t size;
	char *text;
	int err = procfs_read(pid, "statm", &text, &size);

	if (err)
		return err;
	if (sscanf(text, "%*u %" SCNu64, &pages) == 1)
		*ret_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	else
		err = -EINVAL;
	free(text);
	return err;
}

int resident_available(uint64_t *ret_bytes)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t kib;
	char line[128];
	int err = -ENOENT;

	if (!file)
		return -errno;
	while (err && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) != 1)
			continue;
		*ret_bytes = kib * 1024;
		err = 0;
	}
	fclose(file);
	return err;
}

static void range_add(struct resident_range *range, const struct pagemap_extent *extent,
		      uint64_t start, uint64_t end)
{
	uint64_t from = extent->start > start ? extent->start : start;
	uint64_t to = extent->end < end ? extent->end : end;
	uint64_t bytes = from < to ? to - from : 0;

	*(extent->swapped ? &range->swapped : &range->present) += bytes;
}

int resident_range(struct pagemap *pagemap, uint64_t start, uint64_t end,
		   struct resident_range *ret_range)
{
	struct resident_range range = {0};
	struct pagemap_extent extents[EXTENTS];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t at = start / page * page, limit = (end + page - 1) / page * page;

	while (at < limit) {
		size_t count;
		int err = pagemap_read(pagemap, PAGEMAP_ALL, at, limit, extents, EXTENTS, &count,
				       &at);

		if (err)
			return err;
		for (size_t i = 0; i < count; i++)
			range_add(&range, &extents[i], start, end);
	}
	*ret_range = range;
	return 0;
}
