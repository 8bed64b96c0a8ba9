/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages of a process hold anything: asked without touching them. */
#ifndef MTRACE_OS_MEMORY_PAGEMAP_H
#define MTRACE_OS_MEMORY_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Pages that are alike. Pages in no extent were never touched, or are gone. */
struct pagemap_extent {
	uint64_t start;
	uint64_t end;
	bool swapped;
};

enum pagemap_pages {
	PAGEMAP_OWN, /* the process's own: not those of a file, nor the shared zero page */
	PAGEMAP_ALL,
};

struct pagemap;

/* 0 or -errno. `use_scan` false: never the ioctl of Linux 6.7, for tests. */
int pagemap_open(struct pagemap **ret_pagemap, pid_t pid, bool use_scan);
void pagemap_close(struct pagemap *pagemap); /* NULL is fine */

/*
 * Extents in [start, end), page-aligned, in order: fills up to `max`, stores how many, and in
 * *ret_next from where to go on (`end` when done). 0 or -errno.
 */
int pagemap_read(struct pagemap *pagemap, enum pagemap_pages pages, uint64_t start, uint64_t end,
		 struct pagemap_extent *extents, size_t max, size_t *ret_count, uint64_t *ret_next);

/*
 * Does the process share one of the first pages of an extent with another, since a fork? Of pages
 * that are its own and not swapped: of so many bytes, where pages have 4 KiB.
 */
#define PAGEMAP_LOOK_BYTES 65536u

bool pagemap_shares(const struct pagemap *pagemap, const struct pagemap_extent *extent);

#endif
