/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks of a process by address, packed for a scan: built once, then only searched. A block is
 * known by its slot, which grows with its address. See blocks.c for how and at what cost.
 */
#ifndef MTRACE_SCAN_BLOCK_BLOCKS_H
#define MTRACE_SCAN_BLOCK_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "scan/block/sort.h"

#define SLOT_NONE  UINT32_MAX
#define SLOT_LIMIT (1u << 30) /* slots there can be */

/* Blocks near each other. */
struct span {
	uint64_t base; /* address of the first block */
	uint64_t end;  /* where the last one ends; behind its start even if its size is 0 */
	uint32_t first;
	uint32_t count;
	uint32_t table; /* its first bucket */
	uint32_t bucket_count;
	uint32_t shift; /* of an offset, for its bucket */
};

/* Zeroed memory is an empty set. */
struct blocks {
	VEC(struct sized_block) raw; /* until it is sealed */
	uint32_t *starts;            /* by slot: offset from the span's base */
	uint16_t *sizes;             /* by slot: the lower half */
	uint16_t *sizes_upper;       /* likewise; NULL where next to no block needs it */
	uint32_t size_is_large;      /* what stands in sizes, then: see large */
	uint32_t slots;              /* some of them belong to no block */
	uint32_t count;
	VEC(struct span) spans;
	uint32_t *buckets;             /* the first slot that lies there or behind */
	VEC(struct sized_block) large; /* what sizes cannot say, by address */
	uint64_t low;                  /* every block lies in [low, high) */
	uint64_t high;
	uint64_t total; /* bytes of all blocks */
	size_t bytes;   /* of memory that it takes */
};

/* A word that points into a block. */
struct hit {
	uint32_t slot;
	uint32_t tag;    /* what the caller said of the word */
	uint64_t offset; /* in the block: 0 is its start */
};

/* Make room for exactly so many: 0 or -ENOMEM. */
int blocks_reserve(struct blocks *blocks, size_t count);
/* In any order. 0 or -ENOMEM. */
int blocks_add(struct blocks *blocks, uint64_t address, uint64_t size);
/*
 * No more blocks. Of two at one address the larger stays, and a block ends where the next begins.
 * 0, -ENOMEM, or -EFBIG for more than SLOT_LIMIT.
 */
int blocks_seal(struct blocks *blocks);
void blocks_free(struct blocks *blocks);

uint64_t blocks_address(const struct blocks *blocks, uint32_t slot);
uint64_t blocks_size(const struct blocks *blocks, uint32_t slot);
/* The index of the slot's span. */
size_t blocks_span(const struct blocks *blocks, uint32_t slot);
/* The index of the last span that begins at or below the address; 0 if none does. */
size_t blocks_span_below(const struct blocks *blocks, uint64_t address);
/* The block that begins at the address, or SLOT_NONE. */
uint32_t blocks_at(const struct blocks *blocks, uint64_t address);

/*
 * Of `count` words those that point into [start, start + size) of a block, or to the start of an
 * empty one, in the order of the words. `hits` has room for all; returns how many there are.
 */
size_t blocks_find(const struct blocks *blocks, const uint64_t *words, const uint32_t *tags,
		   size_t count, struct hit *hits);

/* Walks over blocks by address. */
struct block_cursor {
	const struct blocks *blocks;
	size_t span;
	uint64_t base;    /* of the span */
	uint32_t near;    /* slots below have their successor in the span */
	uint32_t slot;    /* the last block that starts at or below; SLOT_NONE: there is none */
	uint64_t address; /* of that block */
	uint64_t size;
	uint64_t next; /* where the block behind it starts; UINT64_MAX: there is none */
};

/* Begin at an address. */
void block_cursor_seek(struct block_cursor *cursor, const struct blocks *blocks, uint64_t address);
/* For block_cursor_step, in the general case. */
void block_cursor_leap(struct block_cursor *cursor);

#define BLOCKS_NO_START UINT32_MAX /* in starts, behind a span */

/* False for slots that pad the table. */
static inline bool blocks_is_block(const struct blocks *blocks, uint32_t slot)
{
	return blocks->starts[slot] != BLOCKS_NO_START;
}

/* size_is_large: it says no more than that. */
static inline uint32_t blocks_packed_size(const struct blocks *blocks, uint32_t slot)
{
	uint32_t size = blocks->sizes[slot];

	return blocks->sizes_upper ? size | (uint32_t)blocks->sizes_upper[slot] << 16 : size;
}

/* To the next block, which there is. */
static inline void block_cursor_step(struct block_cursor *cursor)
{
	const struct blocks *blocks = cursor->blocks;
	uint32_t slot = cursor->slot + 1, size;

	if (cursor->slot >= cursor->near ||
	    (size = blocks_packed_size(blocks, slot)) == blocks->size_is_large) {
		block_cursor_leap(cursor);
		return;
	}
	cursor->slot = slot;
	cursor->address = cursor->next;
	cursor->size = size;
	cursor->next = cursor->base + blocks->starts[slot + 1];
}

#endif
