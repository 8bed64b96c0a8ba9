/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where older blocks are unknown, what lies between known blocks may be theirs, or free. In glibc's
 * malloc each chunk says how large it is, which leads to the next one (gap.c), and whether the one
 * before it is free; of a free one it also repeats the size. So from a known block on, chunk by
 * chunk, as the pass comes by; believed only if the chain ends exactly at the next known block, or
 * at the end of the heap, where what is left is free. Chunks that are kept for their thread or for
 * a quick reuse (tcache, fast bins) look as if they were in use, so this is a lower bound.
 *
 * It is only counted: all of it is searched for pointers. Costs one look at each chunk of a gap.
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
	uint32_t narrow;

	if (walk->word == sizeof(wide)) {
		memcpy(&wide, data, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, data, sizeof(narrow));
	return narrow;
}

static bool is_in_view(const struct gap_walk *walk, const struct gap_view *view)
{
	return walk->chunk >= view->address && walk->chunk + 2 * walk->word <= view->end;
}

/* Look at the chunk, and go to the next. False, and the chain ends, if that is none. */
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
	/* Whether the last one before it is free, the block's chunk says. */
	if (walk->chunk == goal && is_in_view(walk, view) && step(walk, view))
		walk->free += walk->found;
	walk->chunk = 0;
}

void gap_walk_leave(struct gap_walk *walk, const struct gap_view *view, uint64_t next)
{
	walk_to(walk, view, next - 2 * walk->word);
	walk->before += view->end - view->address;
	/* A header that lies in two views, or in none, is not read. */
	if (walk->chunk && walk->chunk < view->end)
		walk->chunk = 0;
}

void gap_walk_top(struct gap_walk *walk)
{
	if (walk->chunk && walk->chunk == walk->limit)
		walk->free += walk->found + walk->before - walk->passed;
	walk->chunk = 0;
}
