/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading memory that was never touched makes the kernel allocate it in the target, so find out
 * first which pages are present. The ioctl PAGEMAP_SCAN (Linux 6.7,
 * Documentation/admin-guide/mm/pagemap.rst) walks the page tables and returns ranges: a terabyte
 * that is only reserved takes a few microseconds. On older kernels, /proc/PID/pagemap returns 8
 * bytes for each page, present or not: 4 GiB of address space per second and core.
 */
#include "os/memory/pagemap.h"

#include <errno.h>
#include <linux/ioctl.h>
#include <linux/types.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/process/procfs.h"

/* from linux/fs.h, which may be older than the running kernel */
#define CATEGORY_FILE    (1u << 2)
#define CATEGORY_PRESENT (1u << 3)
#define CATEGORY_SWAPPED (1u << 4)
#define CATEGORY_ZERO    (1u << 5)

struct scan_region {
	__u64 start, end, categories;
};

struct scan_argument {
	__u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
	__u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_argument)

/* bits of entries in /proc/PID/pagemap */
#define ENTRY_ALONE   (1ULL << 56)
#define ENTRY_FILE    (1ULL << 61)
#define ENTRY_SWAPPED (1ULL << 62)
#define ENTRY_PRESENT (1ULL << 63)

#define REGIONS 256
#define ENTRIES 4096
#define LOOK    (PAGEMAP_LOOK_BYTES / 4096)

struct pagemap {
	int file;
	bool use_scan;
	uint64_t page_size;
	union {
		struct scan_region regions[REGIONS];
		uint64_t entries[ENTRIES];
	};
};

static int scan(struct pagemap *pagemap, enum pagemap_pages pages, uint64_t start, uint64_t end,
		size_t max, struct scan_argument *argument)
{
	uint64_t unwanted = pages == PAGEMAP_OWN ? CATEGORY_FILE | CATEGORY_ZERO : 0;
	int count;

	*argument = (struct scan_argument){
		.size = sizeof(*argument),
		.start = start,
		.end = end,
		.vec = (uintptr_t)pagemap->regions,
		.vec_len = max < REGIONS ? max : REGIONS,
		.category_inverted = unwanted,
		.category_mask = unwanted,
		.category_anyof_mask = CATEGORY_PRESENT | CATEGORY_SWAPPED,
		.return_mask = CATEGORY_SWAPPED,
	};
	count = ioctl(pagemap->file, SCAN_IOCTL, argument);
	return count < 0 ? -errno : count;
}

static int read_by_scan(struct pagemap *pagemap, enum pagemap_pages pages, uint64_t start,
			uint64_t end, struct pagemap_extent *extents, size_t max, size_t *ret_count,
			uint64_t *ret_next)
{
	struct scan_argument argument;
	int count = scan(pagemap, pages, start, end, max, &argument);

	if (count < 0)
		return count;
	for (int i = 0; i < count; i++) {
		extents[i].start = pagemap->regions[i].start;
		extents[i].end = pagemap->regions[i].end;
		extents[i].swapped = pagemap->regions[i].categories & CATEGORY_SWAPPED;
	}
	*ret_count = (size_t)count;
	*ret_next = argument.walk_end;
	return 0;
}

static bool entry_wanted(uint64_t entry, enum pagemap_pages pages)
{
	if (!(entry & (ENTRY_PRESENT | ENTRY_SWAPPED)))
		return false;
	return pages == PAGEMAP_ALL || !(entry & ENTRY_FILE);
}

static bool extent_continues(const struct pagemap_extent *last, uint64_t address, uint64_t entry)
{
	return last->end == address && last->swapped == !!(entry & ENTRY_SWAPPED);
}

static int read_by_entries(struct pagemap *pagemap, enum pagemap_pages pages, uint64_t start,
			   uint64_t end, struct pagemap_extent *extents, size_t max,
			   size_t *ret_count, uint64_t *ret_next)
{
	uint64_t size = pagemap->page_size;
	uint64_t want = (end - start) / size;
	ssize_t got;
	size_t count = 0;

	want = want < ENTRIES ? want : ENTRIES;
	got = pread(pagemap->file, pagemap->entries, want * 8, (off_t)(start / size * 8));
	if (got < 0)
		return -errno;
	if (got < 8) { /* beyond the end of the address space */
		*ret_count = 0;
		*ret_next = end;
		return 0;
	}
	for (size_t i = 0; i < (size_t)got / 8; i++, start += size) {
		uint64_t entry = pagemap->entries[i];

		if (!entry_wanted(entry, pages))
			continue;
		if (count && extent_continues(&extents[count - 1], start, entry)) {
			extents[count - 1].end += size;
			continue;
		}
		if (count == max)
			break;
		extents[count++] = (struct pagemap_extent){
			.start = start, .end = start + size, .swapped = entry & ENTRY_SWAPPED};
	}
	*ret_count = count;
	*ret_next = start;
	return 0;
}

int pagemap_read(struct pagemap *pagemap, enum pagemap_pages pages, uint64_t start, uint64_t end,
		 struct pagemap_extent *extents, size_t max, size_t *ret_count, uint64_t *ret_next)
{
	int err;

	if (pagemap->use_scan) {
		err = read_by_scan(pagemap, pages, start, end, extents, max, ret_count, ret_next);
		if (err != -ENOTTY)
			return err;
		pagemap->use_scan = false;
	}
	return read_by_entries(pagemap, pages, start, end, extents, max, ret_count, ret_next);
}

int pagemap_open(struct pagemap **ret_pagemap, pid_t pid, bool use_scan)
{
	struct pagemap *pagemap;
	int file = procfs_open(pid, "pagemap");

	if (file < 0)
		return file;
	pagemap = malloc(sizeof(*pagemap));
	if (!pagemap) {
		close(file);
		return -ENOMEM;
	}
	pagemap->file = file;
	pagemap->use_scan = use_scan;
	pagemap->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_pagemap = pagemap;
	return 0;
}

void pagemap_close(struct pagemap *pagemap)
{
	if (!pagemap)
		return;
	close(pagemap->file);
	free(pagemap);
}

bool pagemap_shares(const struct pagemap *pagemap, const struct pagemap_extent *extent)
{
	const uint64_t kinds = ENTRY_PRESENT | ENTRY_FILE | ENTRY_ALONE;
	uint64_t entries[LOOK], count = (extent->end - extent->start) / pagemap->page_size;
	ssize_t got = pread(pagemap->file, entries, (count < LOOK ? count : LOOK) * 8,
			    (off_t)(extent->start / pagemap->page_size * 8));

	for (ssize_t i = 0; i < got / 8; i++)
		if ((entries[i] & kinds) == ENTRY_PRESENT)
			return true;
	return false;
}
