/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/site/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Number of frames; each chunk is twice as large as the previous one, up to …. */
#define CHUNK_FIRST 128
#define CHUNK_LAST  8192

struct frames_chunk {
	struct frames_chunk *older;
	uint32_t used;
	uint32_t capacity;
	uint64_t frames[];
};

struct frame_store {
	uint32_t owners; /* stacks that use the store, and stores based on it */
	struct frame_store *base;
	struct frames_chunk *newest;
	size_t bytes; /* of its chunks */
};

static struct frame_store *store_new(struct frame_store *base)
{
	struct frame_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->owners = 1;
	store->base = base;
	if (base)
		base->owners++;
	return store;
}

/* Returns a chunk with room for `count` frames; NULL if out of memory. */
static struct frames_chunk *store_chunk(struct frame_store *store, uint32_t count)
{
	struct frames_chunk *newest = store->newest, *chunk;
	uint32_t capacity = newest ? newest->capacity * 2 : CHUNK_FIRST;

	if (newest && newest->capacity - newest->used >= count)
		return newest;
	capacity = capacity > CHUNK_LAST ? CHUNK_LAST : capacity;
	capacity = capacity < count ? count : capacity;
	chunk = malloc(sizeof(*chunk) + capacity * sizeof(chunk->frames[0]));
	if (!chunk)
		return NULL;
	*chunk = (struct frames_chunk){.older = newest, .capacity = capacity};
	store->newest = chunk;
	store->bytes += sizeof(*chunk) + capacity * sizeof(chunk->frames[0]);
	return chunk;
}

const uint64_t *frame_store_keep(struct frame_store **store, const uint64_t *frames, uint32_t count)
{
	struct frames_chunk *chunk;
	uint64_t *kept;

	if (!*store)
		*store = store_new(NULL);
	chunk = *store ? store_chunk(*store, count) : NULL;
	if (!chunk)
		return NULL;
	kept = chunk->frames + chunk->used;
	memcpy(kept, frames, count * sizeof(*frames));
	chunk->used += count;
	return kept;
}

int frame_store_branch(struct frame_store **ret_store, struct frame_store *base)
{
	/* Skips stores without frames of their own. */
	while (base && !base->newest)
		base = base->base;
	*ret_store = base ? store_new(base) : NULL;
	return base && !*ret_store ? -ENOMEM : 0;
}

static void chunks_free(struct frames_chunk *chunk)
{
	struct frames_chunk *older;

	for (; chunk; chunk = older) {
		older = chunk->older;
		free(chunk);
	}
}

size_t frame_store_bytes(const struct frame_store *store)
{
	return store ? store->bytes : 0;
}

void frame_store_free(struct frame_store *store)
{
	struct frame_store *base;

	for (; store && !--store->owners; store = base) {
		base = store->base;
		chunks_free(store->newest);
		free(store);
	}
}
