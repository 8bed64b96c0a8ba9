// SPDX-License-Identifier: GPL-2.0-or-later
#include "scan/mark/stack_only.h"

#include <stdlib.h>

static bool make_room(struct scan *scan)
{
	size_t bytes = (size_t)scan->blocks->slots + 1;

	if (!scan->origins)
		scan->origins = calloc(bytes, 1);
	if (!scan->origins)
		return false;
	if (!scan->origin_bytes)
		edges_shrink(&scan->edges, bytes);
	scan->origin_bytes = bytes;
	return true;
}

void stack_only_add(struct scan *scan, uint32_t slot)
{
	size_t rank = scan->candidates.count + 1;

	if (scan_level(scan, slot) || !make_room(scan) || vec_push(&scan->candidates, slot))
		return;
	scan->origins[slot] =
		(uint8_t)(ORIGIN_CANDIDATE | (rank < ORIGIN_RANK ? rank : ORIGIN_RANK));
}

void stack_only_inherit(struct scan *scan, uint32_t source, uint32_t target)
{
	uint8_t from = source == SLOT_NONE ? 0 : scan->origins[source] & ORIGIN_RANK;
	uint8_t *origin = &scan->origins[target];

	if (!scan_level(scan, target)) {
		*origin = from;
		return;
	}
	if (!(*origin & ORIGIN_CANDIDATE))
		return;
	if (from > (*origin & ORIGIN_RANK))
		scan->led[*origin & ORIGIN_RANK][from / 64] |= 1ULL << from % 64;
	if (from >= (*origin & ORIGIN_RANK))
		return;
	*origin = from;
	if (scan->settling && scan_level(scan, target) >= scan->settled_level)
		settled_mark(&scan->settled, scan->blocks, target);
}

/*
 * Returns the rank itself if its block is still a candidate, or the one that the block is now
 * below: the roots (0) or another candidate. Each step leads to a lower rank.
 */
static uint8_t origin_of_rank(const struct scan *scan, uint8_t rank)
{
	while (rank) {
		uint8_t origin = scan->origins[scan->candidates.items[rank - 1]];

		if (origin & ORIGIN_CANDIDATE)
			break;
		rank = origin;
	}
	return rank;
}

/* Does a candidate of a higher rank that leads here belong below a lower rank by now? */
static bool settle_rank(struct scan *scan, uint8_t rank)
{
	uint8_t *origin = &scan->origins[scan->candidates.items[rank - 1]];

	if (!(*origin & ORIGIN_CANDIDATE))
		return false;
	for (uint8_t from = (uint8_t)(rank + 1); from < ORIGIN_RANK; from++) {
		uint8_t other;

		if (from > scan->candidates.count || !(scan->led[rank][from / 64] >> from % 64 & 1))
			continue;
		other = origin_of_rank(scan, from);
		if (other >= rank)
			continue;
		*origin = other;
		return true;
	}
	return false;
}

static void settle_ranks(struct scan *scan)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint8_t rank = 1; rank < ORIGIN_RANK && rank <= scan->candidates.count; rank++)
			changed |= settle_rank(scan, rank);
	}
}

void stack_only_finish(struct scan *scan)
{
	size_t kept = 0;

	settle_ranks(scan);
	for (size_t i = 0; i < scan->candidates.count; i++) {
		uint32_t slot = scan->candidates.items[i];

		if (scan_is_candidate(scan, slot))
			scan->candidates.items[kept++] = slot;
	}
	scan->candidates.count = kept;
	free(scan->origins);
	scan->origins = NULL;
}
