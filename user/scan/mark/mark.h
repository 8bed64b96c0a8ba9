/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a running scan. Only the parts of the scan include it. */
#ifndef MTRACE_SCAN_MARK_MARK_H
#define MTRACE_SCAN_MARK_MARK_H

#include <string.h>

#include "scan/block/filter.h"
#include "scan/mark/edges.h"
#include "scan/mark/settled.h"
#include "scan/pattern/gap.h"
#include "scan/pattern/gap_walk.h"
#include "scan/read/feed.h"
#include "scan/scan_types.h"

#define STACK       1024       /* blocks whose edges are followed next; the others wait in a set */
#define UNIT_SORTED 256        /* a smaller unit if words must be sorted first */
#define UNIT        (8 * 1024) /* bytes that are filtered and looked up at a time */

/* A flag in positions, and in the tags of hits: the word had a tag in its upper bits. */
#define WORD_TAGGED 0x40000000u
_Static_assert(SLOT_LIMIT <= WORD_TAGGED && UNIT <= WORD_TAGGED,
	       "slots and positions leave the flag's bit free");

/* The state of a block, while the scan runs. */
#define LEVEL_MASK           0x03
#define LEVEL_NONE           0
#define LEVEL_INTERIOR       1
#define LEVEL_START          2
#define INCOMPLETE           0x04 /* some of its edges did not fit */
#define IDIOM_SHIFT          3 /* the remaining bits: what it looks like (scan/pattern/idiom.h) */
#define UNREACHABLE_VISITED  0x08 /* in the last phase, these replace what it looks like */
#define UNREACHABLE_HEAD     0x10
#define UNREACHABLE_INDIRECT 0x20

/* Where a block was first reached from (scan/mark/stack_only.h); 0: the roots. */
#define ORIGIN_RANK      0x7f /* of a candidate; later candidates share the last rank */
#define ORIGIN_CANDIDATE 0x80

struct hole {
	uint32_t slot;
	uint64_t bytes;
};

struct deferred {
	uint32_t slot;
	uint32_t offset; /* UINT32_MAX: at least that */
};

/* A word on a stack or in a register, and where it points. */
struct reference {
	struct scan_reference word;
	struct edge edge;
};

struct scan {
	const struct blocks *blocks;
	const struct scan_input *input;
	struct scan_result *result;
	uint8_t *states;
	struct edges edges;
	VEC(struct deferred) deferred;
	size_t deferred_max;
	uint32_t stack[STACK]; /* reached; their edges are followed next */
	unsigned int depth;
	struct bitset pending; /* reached; their edges are followed later */
	struct bitset reread;  /* reached; must be read again for their edges */
	uint32_t reread_from;  /* after the last block that was read again */
	struct feed *reread_feed;
	const uint32_t *wanted; /* slots being read again; words of other blocks are ignored */
	size_t wanted_count;
	size_t wanted_at; /* those before it have been read */
	VEC(struct hole) holes;
	struct scan_range *ranges; /* roots, then ranges with blocks, then classified stacks */
	size_t root_ranges;
	size_t stack_ranges;
	VEC(struct reference) references;
	uint32_t registers; /* index of the set being scanned, or SCAN_IN_MEMORY */
	bool refers;        /* words are noted as references to be classified */
	uint8_t *origins;   /* by slot; NULL: there are no candidates */
	size_t origin_bytes;
	uint8_t *tagged; /* bits by slot: a tagged pointer was the first to reach it; or NULL */
	uint64_t led[ORIGIN_RANK + 1][2]; /* by rank: bits of later ranks that point to it */
	VEC(uint32_t) candidates;         /* only a stack points there, as far as known; by rank */

	struct filter filter;
	struct settled settled;
	unsigned int settled_level; /* blocks of this level or a higher one no longer change */
	size_t in_vain;             /* lookups that found a settled block */
	bool settling;              /* `settled` is maintained after many such lookups */
	uint64_t words[UNIT];       /* a word may begin at every byte */
	uint32_t positions[UNIT];   /* in the unit; later the slots of their blocks */
	struct hit hits[UNIT];

	bool in_blocks;   /* words may be in blocks */
	bool incomplete;  /* some blocks are INCOMPLETE */
	bool remembering; /* pointers of blocks that are not yet reachable are stored as edges */
	bool counts_free; /* free bytes between blocks are counted */
	bool only_wanted; /* words outside of `wanted` are ignored */
	const struct feed_piece *piece; /* being scanned, if in_blocks */
	struct block_cursor first;      /* the block at its start */
	uint32_t last;                  /* the block at its end */
	struct block_cursor at;         /* the block of the current word */
	uint64_t content_end;           /* end of that block's content; 0: no block */
	struct word_reader chunk_words;
	struct gap_walk gap_walk;
	struct scan_range gap; /* between two blocks: the last one that was checked … */
	bool is_gap_free;      /* … and the result */
	uint32_t head;         /* the leaked block being followed */
	/* Handles a pointer from a block (SLOT_NONE: a root) to another block. */
	void (*on_pointer)(struct scan *scan, uint32_t source, const struct edge *edge);
};

static inline unsigned int scan_level(const struct scan *scan, uint32_t slot)
{
	return scan->states[slot] & LEVEL_MASK;
}

/* Returns true if all pointers to the block must still be looked up. */
static inline bool scan_is_candidate(const struct scan *scan, uint32_t slot)
{
	return scan->origins && scan->origins[slot] & ORIGIN_CANDIDATE;
}

/* Returns true if another pointer to the block changes nothing. */
static inline bool scan_is_settled(const struct scan *scan, uint32_t slot)
{
	return scan_level(scan, slot) >= scan->settled_level && !scan_is_candidate(scan, slot);
}

static inline uint8_t scan_looks(const struct scan *scan, uint32_t slot)
{
	return scan->states[slot] >> IDIOM_SHIFT;
}

/* Returns true if the eight blocks from the slot on all have the level. */
static inline bool scan_eight_are(const struct scan *scan, uint32_t slot, unsigned int level)
{
	const uint64_t ones = UINT64_MAX / UINT8_MAX;
	uint64_t eight;

	if (slot >= scan->blocks->slots || scan->blocks->slots - slot < sizeof(eight))
		return false;
	memcpy(&eight, &scan->states[slot], sizeof(eight));
	return (eight & ones * LEVEL_MASK) == ones * level;
}

/* Levels only rise. */
static inline void scan_set_level(struct scan *scan, uint32_t slot, unsigned int level)
{
	if (scan->settling && level >= scan->settled_level &&
	    scan_level(scan, slot) < scan->settled_level && !scan_is_candidate(scan, slot))
		settled_mark(&scan->settled, scan->blocks, slot);
	scan->states[slot] = (uint8_t)((scan->states[slot] & ~LEVEL_MASK) | level);
}

/* The edge of a word that points into a block. Returns false for a tagged word not to the start. */
static inline bool scan_edge_of(const struct hit *hit, struct edge *ret_edge)
{
	bool tagged = hit->tag & WORD_TAGGED;

	*ret_edge = (struct edge){hit->slot, tagged ? EDGE_TAGGED : hit->offset};
	return !tagged || !hit->offset;
}

/* Queues the block so that its pointers are followed, if it has any. */
static inline void scan_push(struct scan *scan, uint32_t slot)
{
	if (scan->states[slot] & INCOMPLETE)
		bitset_add(&scan->reread, slot);
	else if (!edges_has(&scan->edges, slot))
		return;
	else if (scan->depth < STACK)
		scan->stack[scan->depth++] = slot;
	else
		bitset_add(&scan->pending, slot);
}

/* Returns the end of the content of the cursor's block. */
static inline uint64_t scan_content_end(const struct scan *scan, const struct block_cursor *at)
{
	return gap_content_end(scan->input, at->address, at->size, at->next);
}

#endif
