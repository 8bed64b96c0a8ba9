/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of what lies between known blocks is free? See gap_walk.c. */
#ifndef MTRACE_SCAN_PATTERN_GAP_WALK_H
#define MTRACE_SCAN_PATTERN_GAP_WALK_H

#include <stddef.h>
#include <stdint.h>

/* Memory as the pass comes by it: in the order of addresses, with holes. */
struct gap_view {
	uint64_t address;
	uint64_t end;
	const unsigned char *data;
};

/* Zeroed but for word. */
struct gap_walk {
	unsigned int word;
	uint64_t chunk;  /* the next one to look at; 0: none */
	uint64_t limit;  /* the end of the heap */
	uint64_t size;   /* of the chunk before it */
	uint64_t passed; /* readable bytes before that chunk … */
	uint64_t before; /* … and before the view */
	uint64_t found;  /* free, but not proved yet */
	uint64_t free;   /* bytes that are free for certain */
};

/* Begin behind a block that is known, in a heap that ends at the limit. */
void gap_walk_begin(struct gap_walk *walk, const struct gap_view *view, uint64_t block,
		    uint64_t limit);
/* Go on to the block that is known next. */
void gap_walk_end(struct gap_walk *walk, const struct gap_view *view, uint64_t block);
/* Go on to the end of the view, which is left behind; `next` is the block that is known next. */
void gap_walk_leave(struct gap_walk *walk, const struct gap_view *view, uint64_t next);
/* The heap has been left behind, too: what is left of it is at its top. */
void gap_walk_top(struct gap_walk *walk);

#endif
