/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live blocks of a process by address. See heap.c for how and at what cost. */
#ifndef MTRACE_MODEL_BLOCK_HEAP_H
#define MTRACE_MODEL_BLOCK_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block {
	uint64_t address; /* never 0 */
	uint64_t size : 56;
	uint64_t sample : 8; /* by which mean it was chosen: see RECORD_SAMPLE */
	uint32_t site;       /* index in the process's sites, or SITE_NONE */
	uint32_t time;       /* milliseconds: see process_time */
};

struct shard;

/* Zeroed memory is an empty heap. */
struct heap {
	struct shard **shards; /* 2^depth entries; NULL while empty */
	uint32_t depth;
	size_t count; /* blocks */
	size_t bytes; /* memory behind them; what is shared with a copy counts in both */
};

/*
 * Enter a block. Returns 1 if another one had its address, which is replaced and stored in
 * *ret_old; else 0 or -ENOMEM.
 */
int heap_put(struct heap *heap, const struct block *block, struct block *ret_old);

/* Remove the block at an address: 1, 0 if there is none, or -ENOMEM (of a heap with copies). */
int heap_take(struct heap *heap, uint64_t address, struct block *ret_block);

/* The block at an address, valid until the heap changes; NULL if there is none. */
const struct block *heap_find(const struct heap *heap, uint64_t address);

/* Call visit for every block, in no particular order. */
void heap_visit(const struct heap *heap, void (*visit)(void *ctx, const struct block *block),
		void *ctx);

/* *ret_copy: as the heap is now; both go on as they like. 0 or -ENOMEM, and then it is empty. */
int heap_copy(struct heap *ret_copy, const struct heap *heap);

void heap_free(struct heap *heap);

#endif
