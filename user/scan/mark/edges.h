/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pointers out of blocks that are not (yet) known to be reachable, stored so that the blocks need
 * not be read again. The memory is fixed; edges that do not fit are refused.
 */
#ifndef MTRACE_SCAN_MARK_EDGES_H
#define MTRACE_SCAN_MARK_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/block/bitset.h"
#include "scan/block/blocks.h"

struct edge {
	uint32_t target;
	uint64_t offset; /* into the target, or EDGE_TAGGED */
};

#define EDGE_TAGGED UINT64_MAX /* to the start, with a tag in the upper bits of the word */

#define EDGES_GROUP 16 /* slots */

struct edges {
	uint32_t *words;
	uint32_t capacity;
	uint32_t used;
	uint32_t *firsts; /* per group of slots: where their runs begin in words */
	uint32_t groups;  /* number of groups with an entry in firsts */
	uint32_t group_count;
	struct bitset sources; /* slots that have a run */
	uint32_t source;       /* the source of the run being written, or SLOT_NONE */
	uint32_t last;         /* position of that run's last edge in words */
	size_t bytes;
};

/*
 * The capacity is in words: an edge takes one word, or two if it is interior or tagged. Returns 0
 * or -ENOMEM.
 */
int edges_init(struct edges *edges, uint32_t slots, uint32_t capacity);
void edges_free(struct edges *edges);
/* Returns the bytes used in addition to the capacity. */
size_t edges_memory(uint32_t slots);
/*
 * Returns up to `bytes` of memory, unless that is more than half of it. Only allowed while there
 * are no edges.
 */
void edges_shrink(struct edges *edges, size_t bytes);
/* Removes all edges. */
void edges_clear(struct edges *edges);
/* Sources must ascend. Returns false if there is no room, or if they do not ascend. */
bool edges_add(struct edges *edges, uint32_t source, const struct edge *edge);
/* Call this after the last edge was added. */
void edges_finish(struct edges *edges);

/* Returns true if not even a small edge fits. */
static inline bool edges_full(const struct edges *edges)
{
	return edges->capacity - edges->used < 2;
}

static inline bool edges_has(const struct edges *edges, uint32_t source)
{
	return edges->sources.levels[0][source / 64] >> source % 64 & 1;
}

/* Prefetches what edges_walk_begin() will read. */
static inline void edges_fetch(const struct edges *edges, uint32_t source)
{
	__builtin_prefetch(&edges->words[edges->firsts[source / EDGES_GROUP]]);
}

/* The edges of a source, in order. */
struct edges_walk {
	const struct edges *edges;
	uint32_t at;
	bool more;
};

void edges_walk_begin(struct edges_walk *walk, const struct edges *edges, uint32_t source);
bool edges_walk_next(struct edges_walk *walk, struct edge *ret_edge);

#endif
