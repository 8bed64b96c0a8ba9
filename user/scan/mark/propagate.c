/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the pointers that the pass stored. scan/scan.c explains the idea. */
#include "scan/mark/reread.h"
#include "scan/mark/propagate.h"
#include "scan/mark/pass.h"
#include "scan/mark/reach.h"
#include "scan/mark/stack_only.h"

#define AHEAD 8 /* number of blocks whose edges are prefetched */

/* The pointer handler while START spreads. */

static void propagate_start(struct scan *scan, uint32_t source, const struct edge *edge)
{
	if (scan->origins)
		stack_only_inherit(scan, source, edge->target);
	if (scan_level(scan, edge->target) == LEVEL_START)
		return; /* a candidate: propagation_level() follows its edges */
	if (scan_counts_as_start(scan, edge)) {
		scan_set_level(scan, edge->target, LEVEL_START);
		scan_push(scan, edge->target);
	} else if (!scan_level(scan, edge->target)) {
		scan_set_interior(scan, edge);
	}
}

static void propagate_interior(struct scan *scan, uint32_t source, const struct edge *edge)
{
	if (scan->origins)
		stack_only_inherit(scan, source, edge->target);
	if (scan_level(scan, edge->target))
		return;
	scan_set_interior(scan, edge);
	scan_push(scan, edge->target);
}

static void propagate_visited(struct scan *scan, uint32_t source, const struct edge *edge)
{
	uint8_t *state = &scan->states[edge->target];

	(void)source;
	if (*state & (LEVEL_MASK | UNREACHABLE_VISITED))
		return;
	*state |= UNREACHABLE_VISITED;
	scan_push(scan, edge->target);
}

static void propagate_indirect(struct scan *scan, uint32_t source, const struct edge *edge)
{
	uint8_t *state = &scan->states[edge->target];

	(void)source;
	if (*state & (LEVEL_MASK | UNREACHABLE_INDIRECT) || edge->target == scan->head)
		return;
	*state |= UNREACHABLE_INDIRECT;
	scan_push(scan, edge->target);
}
/* Following. */

static void follow_edges(struct scan *scan, uint32_t slot)
{
	struct edges_walk walk;
	struct edge edge;

	edges_walk_begin(&walk, &scan->edges, slot);
	while (edges_walk_next(&walk, &edge))
		if (!scan_is_settled(scan, edge.target))
			scan->on_pointer(scan, slot, &edge);
}

/* Prefetches the edges of a block while earlier blocks in the queue are followed. */
static void follow_stack(struct scan *scan)
{
	uint32_t queue[AHEAD];
	unsigned int first = 0, count = 0;

	while (scan->depth || count) {
		if (scan->depth && count < AHEAD) {
			uint32_t slot = scan->stack[--scan->depth];

			edges_fetch(&scan->edges, slot);
			queue[(first + count++) % AHEAD] = slot;
			continue;
		}
		count--;
		follow_edges(scan, queue[first++ % AHEAD]);
	}
}

/* Searches upwards from the current position, because neighbours are close in memory. */
static uint32_t next_pending(const struct scan *scan, uint32_t from)
{
	uint32_t slot = bitset_next(&scan->pending, from);

	return slot == BITSET_NONE ? bitset_next(&scan->pending, 0) : slot;
}

/* Takes a few pending blocks. Returns false if there are none. */
static bool take_pending(struct scan *scan, uint32_t *from)
{
	uint32_t slot;

	if (bitset_is_empty(&scan->pending))
		return false;
	while (scan->depth < AHEAD && (slot = next_pending(scan, *from)) != BITSET_NONE) {
		bitset_remove(&scan->pending, slot);
		scan->stack[scan->depth++] = slot;
		*from = slot;
	}
	return scan->depth;
}

static void follow_pending(struct scan *scan)
{
	uint32_t slot = 0;

	do
		follow_stack(scan);
	while (take_pending(scan, &slot));
}

/* Follows pointers until none are left. */
static int follow_all(struct scan *scan)
{
	int status;

	do {
		follow_pending(scan);
		status = bitset_is_empty(&scan->reread) ? 0 : scan_reread(scan);
	} while (status > 0);
	return status;
}

/* Blocks reached from roots are followed before those reached from candidates. */
static bool is_from(const struct scan *scan, uint32_t slot, bool roots)
{
	return !scan->origins || roots == !scan->origins[slot];
}

/*
 * Blocks that the pass read before they were reached must still be followed. Only these have edges,
 * or may have.
 */
static void push_level(struct scan *scan, unsigned int level, bool roots)
{
	uint32_t slot = 0;

	while (!scan->incomplete) {
		slot = bitset_next(&scan->edges.sources, slot);
		if (slot == BITSET_NONE)
			return;
		if (scan_level(scan, slot) == level && is_from(scan, slot, roots))
			scan_push(scan, slot);
		slot++;
	}
	for (; slot < scan->blocks->slots; slot++)
		if (scan_level(scan, slot) == level && is_from(scan, slot, roots))
			scan_push(scan, slot);
}

/* Candidates that turned out to be reached from the roots have not been followed yet. */
static void push_candidates(struct scan *scan, unsigned int level)
{
	const uint32_t *slot;

	vec_each (slot, &scan->candidates)
		if (scan_level(scan, *slot) == level)
			scan_push(scan, *slot);
}

static int propagation_level(struct scan *scan, unsigned int level)
{
	int err;

	push_level(scan, level, true);
	err = follow_all(scan);
	if (err || !scan->origins)
		return err;
	push_level(scan, level, false);
	push_candidates(scan, level);
	return follow_all(scan);
}

static void settle_deferred(struct scan *scan)
{
	const struct deferred *item;

	vec_each (item, &scan->deferred) {
		struct edge edge = {.target = item->slot, .offset = item->offset};

		if (scan_counts_as_start(scan, &edge))
			scan_set_level(scan, item->slot, LEVEL_START);
	}
	vec_free(&scan->deferred);
}

/* START is complete. From now on, only pointers to blocks without a level matter. */
static void settle_interior(struct scan *scan)
{
	scan->settled_level = LEVEL_INTERIOR;
	for (uint32_t slot = 0; scan->settling && slot < scan->blocks->slots; slot++)
		if (scan_level(scan, slot) == LEVEL_INTERIOR && !scan_is_candidate(scan, slot))
			settled_mark(&scan->settled, scan->blocks, slot);
}

int scan_propagate(struct scan *scan)
{
	int err;

	settle_deferred(scan);
	scan->on_pointer = propagate_start;
	err = propagation_level(scan, LEVEL_START);
	if (err)
		return err;
	settle_interior(scan);
	scan->on_pointer = propagate_interior;
	err = propagation_level(scan, LEVEL_INTERIOR);
	if (!err)
		stack_only_finish(scan);
	return err;
}

/* Each leaked block that no earlier head leads to becomes a head, for now. */
static int find_heads(struct scan *scan)
{
	uint32_t slot = 0;
	int err = 0;

	scan->on_pointer = propagate_visited;
	while (!err && (slot = scan_next_unreachable(scan, slot)) < scan->blocks->slots) {
		if (!(scan->states[slot] & UNREACHABLE_VISITED)) {
			scan->states[slot] |= UNREACHABLE_VISITED | UNREACHABLE_HEAD;
			scan_push(scan, slot);
			err = follow_all(scan);
		}
		slot++;
	}
	return err;
}

static int demote_heads(struct scan *scan)
{
	int err = 0;

	scan->on_pointer = propagate_indirect;
	for (uint32_t slot = scan->blocks->slots; !err && slot-- > 0;) {
		if ((scan->states[slot] & (LEVEL_MASK | UNREACHABLE_HEAD | UNREACHABLE_INDIRECT)) !=
		    UNREACHABLE_HEAD)
			continue;
		scan->head = slot;
		scan_push(scan, slot);
		err = follow_all(scan);
	}
	return err;
}

int scan_classify_unreachable(struct scan *scan)
{
	uint32_t slot = 0, count = 0;
	bool incomplete = false;
	int err = 0;

	for (; (slot = scan_next_unreachable(scan, slot)) < scan->blocks->slots; slot++, count++) {
		scan->states[slot] &= INCOMPLETE;
		incomplete |= scan->states[slot];
	}
	if (incomplete)
		err = scan_read_unreachable(scan);
	if (!err && count)
		err = find_heads(scan);
	if (!err && count)
		err = demote_heads(scan);
	return err;
}
