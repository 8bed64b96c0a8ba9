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

#define STACK       1024       /* blocks that wait to be followed; more of them do so in a set */
#define UNIT_SORTED 256        /* likewise, where the words have to be brought in order first */
#define UNIT        (8 * 1024) /* bytes that are filtered and looked up at a time */

/* A flag in positions, and in the tags of hits: the word had a tag in its upper bits. */
#define WORD_TAGGED 0x40000000u
_Static_assert(SLOT_LIMIT <= WORD_TAGGED && UNIT <= WORD_TAGGED, "the flag is a bit of its own");

/* The state of a block, while the scan runs. */
#define LEVEL_MASK     0x03
#define LEVEL_NONE     0
#define LEVEL_INTERIOR 1
#define LEVEL_START    2
#define INCOMPLETE     0x04 /* not all of its edges are remembered */
#define IDIOM_SHIFT    3    /* what it looks like (scan/pattern/idiom.h), in the other bits */
#define LOST_VISITED   0x08 /* in the last phase, in place of that */
#define LOST_HEAD      0x10
#define LOST_INDIRECT  0x20

/* Where a block was first reached from (scan/mark/stack_only.h); 0: the roots. */
#define ORIGIN_RANK      0x7f /* of a candidate; all from this one on share it */
#define ORIGIN_CANDIDATE 0x80

struct hole {
	uint32_t slot;
	uint64_t bytes;
};

struct deferred {
	uint32_t slot;
	uint32_t offset; /* UINT32_MAX: no less */
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
	uint32_t stack[STACK]; /* reached; their edges are to be followed next */
	unsigned int depth;
	struct bitset pending; /* reached; their edges are still to be followed */
	struct bitset again;   /* likewise, but to be read for them */
	uint32_t again_from;   /* where the last ones were that were read again */
	struct feed *again_feed;
	const uint32_t *wanted; /* slots that are read again now; of others nothing counts */
	size_t wanted_count;
	size_t wanted_at; /* those before are behind us */
	VEC(struct hole) holes;
	struct scan_range *ranges; /* roots, then those with blocks, then stacks that are judged */
	size_t root_ranges;
	size_t stack_ranges;
	VEC(struct reference) references;
	uint32_t registers; /* index of the set that is scanned, or SCAN_IN_MEMORY */
	bool refers;        /* words are noted as references, to be judged */
	uint8_t *origins;   /* by slot; NULL: there are no candidates */
	size_t origin_bytes;
	uint8_t *tagged; /* bits by slot: a tagged pointer was the first to reach it; or NULL */
	uint64_t led[ORIGIN_RANK + 1][2]; /* by rank: later ranks that lead there, as bits */
	VEC(uint32_t) candidates; /* that only a stack refers to, as far as we know: by rank */

	struct filter filter;
	struct settled settled;
	unsigned int settled_level; /* levels that cannot change any more, now */
	size_t in_vain;             /* look-ups that found what is settled */
	bool settling;              /* there were so many that `settled` is kept */
	uint64_t words[UNIT];       /* a word may begin at every byte */
	uint32_t positions[UNIT];   /* in the unit; then the slots of their blocks */
	struct hit hits[UNIT];

	bool in_blocks;   /* words may lie in blocks */
	bool incomplete;  /* there are blocks that are */
	bool remembering; /* what is known to be reachable later has its pointers as edges */
	bool counts_free; /* in what lies between blocks */
	bool only_wanted; /* nothing else counts */
	const struct feed_piece *piece; /* that is scanned, if in_blocks */
	struct block_cursor first;      /* the block where it begins */
	uint32_t last;                  /* and the one where it ends */
	struct block_cursor at;         /* the block of the word */
	uint64_t content_end;           /* of that block; 0: there is none */
	struct word_reader chunk_words;
	struct gap_walk gap_walk;
	struct scan_range judged; /* the gap that was judged last */
	bool gap_free;
	uint32_t head; /* the lost block that is followed */
	/* What to do about a pointer from a block (SLOT_NONE: a root) to another. */
	void (*on_pointer)(struct scan *scan, uint32_t source, const struct edge *edge);
};

static inline unsigned int scan_level(const struct scan *scan, uint32_t slot)
{
	return scan->states[slot] & LEVEL_MASK;
}

/* Must pointers to the block be looked up to the end? */
static inline bool scan_is_candidate(const struct scan *scan, uint32_t slot)
{
	return scan->origins && scan->origins[slot] & ORIGIN_CANDIDATE;
}

/* Is it known already what a pointer to the block says? */
static inline bool scan_is_settled(const struct scan *scan, uint32_t slot)
{
	return scan_level(scan, slot) >= scan->settled_level && !scan_is_candidate(scan, slot);
}

static inline uint8_t scan_looks(const struct scan *scan, uint32_t slot)
{
	return scan->states[slot] >> IDIOM_SHIFT;
}

/* Do eight blocks from the slot on all have that level? False, too, where there are no eight. */
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

/* The edge of a word that points into a block. False: a tagged word that misses the start. */
static inline bool scan_edge_of(const struct hit *hit, struct edge *ret_edge)
{
	bool tagged = hit->tag & WORD_TAGGED;

	*ret_edge = (struct edge){hit->slot, tagged ? EDGE_TAGGED : hit->offset};
	return !tagged || !hit->offset;
}

/* Its pointers are to be followed, if it has any. */
static inline void scan_push(struct scan *scan, uint32_t slot)
{
	if (scan->states[slot] & INCOMPLETE)
		bitset_add(&scan->again, slot);
	else if (!edges_has(&scan->edges, slot))
		return;
	else if (scan->depth < STACK)
		scan->stack[scan->depth++] = slot;
	else
		bitset_add(&scan->pending, slot);
}

/* Where the content of the cursor's block ends. */
static inline uint64_t scan_content_end(const struct scan *scan, const struct block_cursor *at)
{
	return gap_content_end(scan->input, at->address, at->size, at->next);
}

#endif
