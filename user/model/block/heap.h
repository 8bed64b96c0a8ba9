/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live blocks of a process by address. heap.c explains the data structure and its cost. */
#ifndef MTRACE_MODEL_BLOCK_HEAP_H
#define MTRACE_MODEL_BLOCK_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block {
	uint64_t address; /* never 0 */
	uint64_t size : 56;
	uint64_t sample : 8; /* mean at which it was sampled: see RECORD_SAMPLE */
	uint32_t site;       /* index of its site in the process, or SITE_NONE */
	uint32_t time;       /* in milliseconds: see process_time */
};

struct shard;

/* An all-zero heap is empty. */
struct heap {
	struct shard **shards; /* 2^depth entries; NULL while empty */
	uint32_t depth;
	size_t count; /* number of blocks */
	size_t bytes; /* memory use; shards that are shared with a copy count in both */
};

/*
 * Inserts a block. Returns 1 if it replaces another block at the same address, which is stored in
 * *ret_old; otherwise 0 or -ENOMEM.
 */
int heap_put(struct heap *heap, const struct block *block, struct block *ret_old);

/* Removes the block at an address. Returns 1, 0 if there is none, or -ENOMEM (only for a heap that
 * has copies). */
int heap_take(struct heap *heap, uint64_t address, struct block *ret_block);

/* Returns the block at an address, valid until the heap changes; NULL if there is none. */
const struct block *heap_find(const struct heap *heap, uint64_t address);

/* Calls `visit` for every block, in no particular order. */
void heap_visit(const struct heap *heap, void (*visit)(void *ctx, const struct block *block),
		void *ctx);

/* Makes *ret_copy an independent copy of the heap. Returns 0 or -ENOMEM (then *ret_copy is
 * empty). */
int heap_copy(struct heap *ret_copy, const struct heap *heap);

/* Returns the memory use of the heap; of a shard that n heaps share, 1/n. */
size_t heap_own_bytes(const struct heap *heap);

void heap_free(struct heap *heap);

#endif
