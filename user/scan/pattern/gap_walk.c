/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * If older blocks are unknown, memory between known blocks may belong to them, or be free. In
 * glibc's malloc each chunk holds its size, which leads to the next chunk (gap.c), and a flag that
 * says whether the chunk before it is free; if it is, its size is repeated. So the pass follows the
 * chunks from each known block on. The result counts only if the chain ends exactly at the next
 * known block, or at the end of the heap, where the rest is free. Chunks in tcache and fast bins
 * look as if they were in use, so this is a lower bound.
 *
 * Free memory is only counted here; all of it is still searched for pointers. The cost is one look
 * at each chunk of a gap.
 */
#include "scan/pattern/gap_walk.h"

#include <stdbool.h>
#include <string.h>

#define FLAGS    7u
#define PREVIOUS 1u /* the chunk before this one is in use */
#define MMAPPED  2u

static uint64_t word_at(const struct gap_walk *walk, const unsigned char *data)
{
	uint64_t wide;
	uint32_t word32;

	if (walk->word == sizeof(wide)) {
		memcpy(&wide, data, sizeof(wide));
		return wide;
	}
	memcpy(&word32, data, sizeof(word32));
	return word32;
}

static bool is_in_view(const struct gap_walk *walk, const struct gap_view *view)
{
	return walk->chunk >= view->address && walk->chunk + 2 * walk->word <= view->end;
}

/*
 * Looks at the chunk and moves to the next. If it is not a chunk, ends the chain and returns false.
 */
static bool step(struct gap_walk *walk, const struct gap_view *view)
{
	const unsigned char *data = view->data + (walk->chunk - view->address);
	uint64_t passed = walk->before + (walk->chunk - view->address);
	uint64_t header = word_at(walk, data + walk->word), size = header & ~(uint64_t)FLAGS;

	if (header & MMAPPED || size < 4 * walk->word || size % (2 * walk->word) ||
	    size > walk->limit - walk->chunk) {
		walk->chunk = 0;
		return false;
	}
	if (!(header & PREVIOUS) && walk->size && word_at(walk, data) == walk->size)
		walk->found += passed - walk->passed;
	walk->passed = passed;
	walk->size = size;
	walk->chunk += size;
	return true;
}

void gap_walk_begin(struct gap_walk *walk, const struct gap_view *view, uint64_t block,
		    uint64_t limit)
{
	walk->chunk = block - 2 * walk->word;
	walk->limit = limit;
	walk->size = walk->found = 0;
	if (is_in_view(walk, view))
		step(walk, view);
	else
		walk->chunk = 0;
}

static void walk_to(struct gap_walk *walk, const struct gap_view *view, uint64_t goal)
{
	while (walk->chunk && walk->chunk < goal && is_in_view(walk, view) && step(walk, view))
		;
}

void gap_walk_end(struct gap_walk *walk, const struct gap_view *view, uint64_t block)
{
	uint64_t goal = block - 2 * walk->word;

	walk_to(walk, view, goal);
	/* The block's chunk says whether the last one before it is free. */
	if (walk->chunk == goal && is_in_view(walk, view) && step(walk, view))
		walk->free += walk->found;
	walk->chunk = 0;
}

void gap_walk_leave(struct gap_walk *walk, const struct gap_view *view, uint64_t next)
{
	walk_to(walk, view, next - 2 * walk->word);
	walk->before += view->end - view->address;
	/* a header that is not completely within one view is not read */
	if (walk->chunk && walk->chunk < view->end)
		walk->chunk = 0;
}

void gap_walk_top(struct gap_walk *walk)
{
	if (walk->chunk && walk->chunk == walk->limit)
		walk->free += walk->found + walk->before - walk->passed;
	walk->chunk = 0;
}
