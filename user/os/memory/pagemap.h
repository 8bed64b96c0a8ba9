/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out which pages of a process have contents, without touching them. */
#ifndef MTRACE_OS_MEMORY_PAGEMAP_H
#define MTRACE_OS_MEMORY_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A range of pages with equal properties. Pages in no extent were never touched, or are gone. */
struct pagemap_extent {
	uint64_t start;
	uint64_t end;
	bool swapped;
};

enum pagemap_pages {
	PAGEMAP_OWN, /* private pages: neither pages of a file nor the shared zero page */
	PAGEMAP_ALL,
};

struct pagemap;

/* Returns 0 or -errno. Tests set `use_scan` to false to avoid the ioctl of Linux 6.7. */
int pagemap_open(struct pagemap **ret_pagemap, pid_t pid, bool use_scan);
void pagemap_close(struct pagemap *pagemap); /* may be NULL */

/*
 * Finds extents in [start, end), which must be page-aligned, in ascending order. Stores up to `max`
 * extents, their number in *ret_count, and in *ret_next the address to continue from (`end` when
 * done). Returns 0 or -errno.
 */
int pagemap_read(struct pagemap *pagemap, enum pagemap_pages pages, uint64_t start, uint64_t end,
		 struct pagemap_extent *extents, size_t max, size_t *ret_count, uint64_t *ret_next);

/*
 * Returns true if the process shares one of the first pages of an extent with another process since
 * a fork. Considers only pages that are present and not part of a file. Examines PAGEMAP_LOOK_BYTES
 * if pages have 4 KiB (the same number of pages otherwise).
 */
#define PAGEMAP_LOOK_BYTES 65536u

bool pagemap_shares(const struct pagemap *pagemap, const struct pagemap_extent *extent);

#endif
