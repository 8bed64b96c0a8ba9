/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks of a process by address, packed for a scan: built once, then only searched. A block's
 * slot identifies it; slots ascend with addresses. blocks.c explains the layout and its cost.
 */
#ifndef MTRACE_SCAN_BLOCK_BLOCKS_H
#define MTRACE_SCAN_BLOCK_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "scan/block/sort.h"

#define SLOT_NONE  UINT32_MAX
#define SLOT_LIMIT (1u << 30) /* maximum number of slots */

/* A group of blocks that are close to each other. */
struct span {
	uint64_t base; /* address of the first block */
	uint64_t end;  /* of the last block; above its start even if its size is 0 */
	uint32_t first;
	uint32_t count;
	uint32_t table; /* index of its first bucket */
	uint32_t bucket_count;
	uint32_t shift; /* an offset shifted right by this is the number of its bucket */
};

/* All zero: an empty set. */
struct blocks {
	VEC(struct sized_block) raw; /* until blocks_seal() */
	uint32_t *starts;            /* by slot: offset from the base of the span */
	uint16_t *sizes;             /* by slot: the lower 16 bits */
	uint16_t *sizes_upper; /* by slot: the upper 16 bits; NULL if hardly any block needs them */
	uint32_t size_is_large; /* the size that stands for "see large" */
	uint32_t slots;         /* including padding, which belongs to no block */
	uint32_t count;
	VEC(struct span) spans;
	uint32_t *buckets;             /* the first slot in the bucket or after it */
	VEC(struct sized_block) large; /* blocks whose size does not fit `sizes`, by address */
	uint64_t low;                  /* every block lies in [low, high) */
	uint64_t high;
	uint64_t total; /* bytes of all blocks */
	size_t bytes;   /* of memory used by this structure */
};

/* A word that points into a block. */
struct hit {
	uint32_t slot;
	uint32_t tag;    /* the caller's, of the word */
	uint64_t offset; /* from the start of the block */
};

/* Makes room for exactly `count` blocks. Returns 0 or -ENOMEM. */
int blocks_reserve(struct blocks *blocks, size_t count);
/* Adds a block, in any order. Returns 0 or -ENOMEM. */
int blocks_add(struct blocks *blocks, uint64_t address, uint64_t size);
/*
 * Call this after the last block was added. Of two blocks at one address the larger one stays, and
 * a block ends where the next one begins. Returns 0, -ENOMEM, or -EFBIG for more than SLOT_LIMIT
 * slots.
 */
int blocks_seal(struct blocks *blocks);
void blocks_free(struct blocks *blocks);

uint64_t blocks_address(const struct blocks *blocks, uint32_t slot);
uint64_t blocks_size(const struct blocks *blocks, uint32_t slot);
/* Returns the index of the slot's span. */
size_t blocks_span(const struct blocks *blocks, uint32_t slot);
/* Returns the index of the last span that begins at or below the address, or 0 if there is none. */
size_t blocks_span_below(const struct blocks *blocks, uint64_t address);
/* Returns the block that begins at the address, or SLOT_NONE. */
uint32_t blocks_at(const struct blocks *blocks, uint64_t address);

/*
 * Finds the words that point into [start, start + size) of a block, or to the start of an empty
 * one. `hits` has room for `count` of them and gets them in the order of the words. Returns how
 * many there are.
 */
size_t blocks_find(const struct blocks *blocks, const uint64_t *words, const uint32_t *tags,
		   size_t count, struct hit *hits);

/* Walks over blocks by address. */
struct block_cursor {
	const struct blocks *blocks;
	size_t span;
	uint64_t base; /* of the span */
	uint32_t near; /* slots below this one have their successor in the same span */
	uint32_t slot; /* the last block that starts at or below the address; SLOT_NONE if there is
			  none */
	uint64_t address; /* of that block */
	uint64_t size;
	uint64_t next; /* where the next block starts; UINT64_MAX if there is none */
};

/* Moves the cursor to an address. */
void block_cursor_seek(struct block_cursor *cursor, const struct blocks *blocks, uint64_t address);
/* The general case of block_cursor_step(). */
void block_cursor_leap(struct block_cursor *cursor);

#define BLOCKS_NO_START UINT32_MAX /* in `starts`, after a span */

/* Returns false for slots that are padding. */
static inline bool blocks_is_block(const struct blocks *blocks, uint32_t slot)
{
	return blocks->starts[slot] != BLOCKS_NO_START;
}

/* Returns the size, or size_is_large. */
static inline uint32_t blocks_packed_size(const struct blocks *blocks, uint32_t slot)
{
	uint32_t size = blocks->sizes[slot];

	return blocks->sizes_upper ? size | (uint32_t)blocks->sizes_upper[slot] << 16 : size;
}

/* Moves the cursor to the next block, which must exist. */
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
