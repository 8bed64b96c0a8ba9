/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts how much of the memory between known blocks is free. gap_walk.c explains how. */
#ifndef MTRACE_SCAN_PATTERN_GAP_WALK_H
#define MTRACE_SCAN_PATTERN_GAP_WALK_H

#include <stddef.h>
#include <stdint.h>

/* Memory as the pass reads it: in ascending order, with holes. */
struct gap_view {
	uint64_t address;
	uint64_t end;
	const unsigned char *data;
};

/* All zero except for word. */
struct gap_walk {
	unsigned int word;
	uint64_t chunk;  /* the next one to look at; 0 if there is none */
	uint64_t limit;  /* the end of the heap */
	uint64_t size;   /* of the chunk before it */
	uint64_t passed; /* readable bytes before that chunk … */
	uint64_t before; /* … and before the view */
	uint64_t found;  /* probably free; not proved yet */
	uint64_t free;   /* bytes that are certainly free */
};

/* Starts after a known block, in a heap that ends at the limit. */
void gap_walk_begin(struct gap_walk *walk, const struct gap_view *view, uint64_t block,
		    uint64_t limit);
/* Continues to the next known block. */
void gap_walk_end(struct gap_walk *walk, const struct gap_view *view, uint64_t block);
/* Continues to the end of the view. `next` is the next known block. Call this after each view. */
void gap_walk_leave(struct gap_walk *walk, const struct gap_view *view, uint64_t next);
/* The heap has ended: the rest of it is the top chunk. */
void gap_walk_top(struct gap_walk *walk);

#endif
