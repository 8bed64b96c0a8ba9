/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory for large tables that are read at random. It uses huge pages if the kernel has them,
 * because otherwise each lookup also misses the TLB. Release it with free().
 */
#ifndef MTRACE_SCAN_BLOCK_TABLE_H
#define MTRACE_SCAN_BLOCK_TABLE_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#define TABLE_HUGE (2u << 20)

static inline void *table_alloc(size_t bytes)
{
	void *table;

	if (bytes < TABLE_HUGE)
		return malloc(bytes ? bytes : 1);
	if (posix_memalign(&table, TABLE_HUGE, bytes))
		return NULL;
	madvise(table, bytes, MADV_HUGEPAGE); /* best effort: small pages also work */
	return table;
}

#endif
