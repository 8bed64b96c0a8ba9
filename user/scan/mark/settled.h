/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where all blocks are known to be reachable, so that it does not matter who else points there. A
 * heap full of pointers is looked up in tables of many megabytes only until most of it is reached;
 * from then on a bit for each region of the heap answers, and those fit the nearest caches.
 *
 * Regions are small, a few blocks each: one block that nothing leads to keeps its region open for
 * good. So nothing is counted: whenever a block is settled, its few neighbours are asked.
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
/* Who points to the block does not matter any more. */
void settled_mark(struct settled *settled, const struct blocks *blocks, uint32_t slot);
/* All blocks that are not settled lie in [low, high). */
void settled_range(struct settled *settled, const struct blocks *blocks, uint64_t *ret_low,
		   uint64_t *ret_high);
/* As long as next to nothing is settled, asking costs more than it saves. */
static inline bool settled_is_worth_it(const struct settled *settled)
{
	return settled->closed > settled->region_count / 16;
}

/* Keep only words that point where a block is not settled yet; returns how many are left. */
size_t settled_filter(const struct settled *settled, const struct blocks *blocks, uint64_t *words,
		      uint32_t *positions, size_t count);

#endif
