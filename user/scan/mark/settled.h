/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions of the heap in which all blocks are known to be reachable, so that further pointers to
 * them do not matter. In a heap full of pointers, words are looked up in tables of many megabytes
 * until most blocks are reached. From then on, one bit per region gives the answer, and these bits
 * fit into the innermost caches.
 *
 * Regions are small, a few blocks each, because one unreferenced block keeps its region open. There
 * are no counters: when a block is settled, its few neighbours in the region are checked.
 */
#ifndef MTRACE_SCAN_MARK_SETTLED_H
#define MTRACE_SCAN_MARK_SETTLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/block/blocks.h"

/* The regions of a span. Their width is a power of two. */
struct settled_span {
	uint64_t base;
	uint64_t width; /* bytes of the span */
	size_t first;   /* its first region */
	uint32_t shift;
};

struct settled {
	struct settled_span *spans; /* as many as the blocks have */
	uint32_t *open;             /* a bit per region: some of its blocks are not settled */
	uint32_t *done;             /* a bit per slot: settled */
	size_t region_count;
	size_t closed;     /* number of closed regions */
	size_t first_open; /* regions before first_open and from last_open on are closed */
	size_t last_open;
	size_t bytes;
	bool wide; /* the processor can filter eight words at once */
};

/* Returns 0 or -ENOMEM. */
int settled_init(struct settled *settled, const struct blocks *blocks);
void settled_free(struct settled *settled);
/* Further pointers to the block no longer matter. */
void settled_mark(struct settled *settled, const struct blocks *blocks, uint32_t slot);
/* Gets the range [low, high) that contains all blocks that are not settled. */
void settled_range(struct settled *settled, const struct blocks *blocks, uint64_t *ret_low,
		   uint64_t *ret_high);
/* Returns false while hardly anything is settled: asking would cost more than it saves. */
static inline bool settled_is_worth_it(const struct settled *settled)
{
	return settled->closed > settled->region_count / 16;
}

/* Keeps only the words that point into open regions. Returns how many are left. */
size_t settled_filter(const struct settled *settled, const struct blocks *blocks, uint64_t *words,
		      uint32_t *positions, size_t count);

#endif
