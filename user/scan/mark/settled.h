/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions of the heap in which all blocks are known to be reachable, so that further pointers there
 * do not matter. Words of a heap full of pointers are looked up in tables of many megabytes until
 * most blocks are reached. From then on, one bit per region gives the answer, and these bits fit
 * the nearest caches.
 *
 * Regions are small, a few blocks each, because one unreferenced block keeps its region open. There
 * are no counters: whenever a block is settled, its few neighbours in the region are looked at.
 */
#ifndef MTRACE_SCAN_MARK_SETTLED_H
#define MTRACE_SCAN_MARK_SETTLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/block/blocks.h"

/* The regions of a span, a power of two wide. */
struct settled_span {
	uint64_t base;
	uint64_t width; /* bytes of the span */
	size_t first;   /* its first region */
	uint32_t shift;
};

struct settled {
	struct settled_span *spans; /* as many as the blocks have */
	uint32_t *open;             /* a bit per region: not all its blocks are settled */
	uint32_t *done;             /* a bit per slot: settled */
	size_t region_count;
	size_t closed;     /* regions */
	size_t first_open; /* regions before and behind are closed */
	size_t last_open;
	size_t bytes;
	bool wide; /* the processor has what it takes to filter eight words at once */
};

/* 0 or -ENOMEM. */
int settled_init(struct settled *settled, const struct blocks *blocks);
void settled_free(struct settled *settled);
/* Further pointers to the block do not matter any more. */
void settled_mark(struct settled *settled, const struct blocks *blocks, uint32_t slot);
/* All blocks that are not settled lie in [low, high). */
void settled_range(struct settled *settled, const struct blocks *blocks, uint64_t *ret_low,
		   uint64_t *ret_high);
/* Returns false while hardly anything is settled: asking would cost more than it saves. */
static inline bool settled_is_worth_it(const struct settled *settled)
{
	return settled->closed > settled->region_count / 16;
}

/* Keep only words that point where a block is not settled yet; returns how many are left. */
size_t settled_filter(const struct settled *settled, const struct blocks *blocks, uint64_t *words,
		      uint32_t *positions, size_t count);

#endif
