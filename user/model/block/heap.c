/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ten million live blocks must fit in 400 MB, and no event may wait until a table of that size is
 * copied: the ring buffer would overflow in the meantime. Therefore this is extendible hashing
 * (Fagin et al., ACM TODS 4/3, 1979) with shards that grow in small steps:
 *
 * - The upper bits of the hash of an address select a shard, through a directory of 2^depth
 *   pointers. A shard of depth d owns all hashes that share its d upper bits, so 2^(depth - d)
 *   adjacent directory entries point to it.
 * - A shard is a table of block records with open addressing and linear probing. The lower 32 bits
 *   of the hash, scaled to the capacity, give the home slot. So the capacity can be any number, and
 *   copying a shard accesses memory sequentially.
 * - A shard at a load of 0.8 is copied to one at 0.64. A shard that has SHARD_SPLIT slots is split
 *   into two of the next depth instead, and the directory doubles if needed.
 * - Deletion moves later entries back (Knuth 6.4, algorithm R): there are no tombstones, and a
 * freed slot is reused for the next block. A shard below a load of 8/15 is copied to a smaller one.
 * - A copy of a heap is a copy of the directory. Shards are shared until one of their owners
 * changes them; then they are copied one at a time. (For a child that soon calls exec, that never
 * happens. Neither heap pays for more than what its process changes.)
 *
 * So a block of 24 bytes costs 30 to 37.5 bytes while the heap grows, and at most 45 after it has
 * shrunk, at every size. The longest pause is the copy of one shard, about 2500 records. A lookup
 * has one cache miss, at the home slot: the directory and the heads of the shards stay in L2.
 */
#include "model/block/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"

#define SHARD_FIRST 16
#define SHARD_SPLIT 2048
#define DEPTH_MAX   20 /* reached only with addresses that are made to have equal hashes */

struct shard {
	uint32_t count;
	uint32_t capacity; /* number of slots; at least one is empty */
	uint32_t depth;
	uint32_t owners;       /* number of heaps that share it */
	struct block blocks[]; /* address 0 marks an empty slot */
};

static size_t shard_bytes(uint32_t capacity)
{
	return sizeof(struct shard) + capacity * sizeof(struct block);
}

static struct shard *shard_new(struct heap *heap, uint32_t capacity, uint32_t depth)
{
	struct shard *shard = calloc(1, shard_bytes(capacity));

	if (!shard)
		return NULL;
	shard->capacity = capacity;
	shard->depth = depth;
	shard->owners = 1;
	heap->bytes += shard_bytes(capacity);
	return shard;
}

static void shard_drop(struct shard *shard)
{
	if (!--shard->owners)
		free(shard);
}

static void shard_free(struct heap *heap, struct shard *shard)
{
	if (!shard)
		return;
	heap->bytes -= shard_bytes(shard->capacity);
	shard_drop(shard);
}

static uint32_t shard_home(const struct shard *shard, uint64_t hash)
{
	return (uint32_t)((uint64_t)(uint32_t)hash * shard->capacity >> 32);
}

static uint32_t shard_next(const struct shard *shard, uint32_t slot)
{
	return slot + 1 < shard->capacity ? slot + 1 : 0;
}

/* Number of slots from one slot forward to another. */
static uint32_t shard_distance(const struct shard *shard, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + shard->capacity - from;
}

/* Returns the slot that holds the address, or the empty slot where it belongs. */
static uint32_t shard_slot(const struct shard *shard, uint64_t address, uint64_t hash)
{
	uint32_t slot = shard_home(shard, hash);

	while (shard->blocks[slot].address && shard->blocks[slot].address != address)
		slot = shard_next(shard, slot);
	return slot;
}

static void shard_insert(struct shard *shard, const struct block *block, uint64_t hash)
{
	shard->blocks[shard_slot(shard, block->address, hash)] = *block;
	shard->count++;
}

/* Moves back each later entry that may be stored in the gap. */
static void shard_close_gap(struct shard *shard, uint32_t gap)
{
	uint32_t slot = shard_next(shard, gap);

	for (; shard->blocks[slot].address; slot = shard_next(shard, slot)) {
		uint32_t home = shard_home(shard, hash_u64(shard->blocks[slot].address));

		if (shard_distance(shard, home, slot) < shard_distance(shard, gap, slot))
			continue;
		shard->blocks[gap] = shard->blocks[slot];
		gap = slot;
	}
	shard->blocks[gap].address = 0;
}

/* Returns the capacity for a load of 0.64. */
static uint32_t capacity_for(uint32_t count)
{
	uint32_t capacity = count + count / 16 * 9 + count % 16 * 9 / 16;

	return capacity < SHARD_FIRST ? SHARD_FIRST : capacity;
}

static size_t directory_index(const struct heap *heap, uint64_t hash)
{
	return heap->depth ? hash >> (64 - heap->depth) : 0;
}

static size_t directory_bytes(uint32_t depth)
{
	return sizeof(struct shard *) << depth;
}

/* Number of directory entries that a shard of this depth owns. */
static size_t directory_span(const struct heap *heap, uint32_t depth)
{
	return (size_t)1 << (heap->depth - depth);
}

/* Makes all directory entries that a shard of this hash and depth owns point to it. */
static void directory_set(struct heap *heap, uint64_t hash, struct shard *shard)
{
	size_t span = directory_span(heap, shard->depth);
	size_t first = directory_index(heap, hash) & ~(span - 1);

	for (size_t i = 0; i < span; i++)
		heap->shards[first + i] = shard;
}

static int directory_double(struct heap *heap)
{
	size_t bytes = directory_bytes(heap->depth + 1);
	struct shard **doubled = malloc(bytes);

	if (!doubled)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)2 << heap->depth; i++)
		doubled[i] = heap->shards[i / 2];
	heap->bytes += bytes - directory_bytes(heap->depth);
	free(heap->shards);
	heap->shards = doubled;
	heap->depth++;
	return 0;
}

static int heap_open(struct heap *heap)
{
	struct shard **shards = malloc(directory_bytes(0));

	if (!shards)
		return -ENOMEM;
	shards[0] = shard_new(heap, SHARD_FIRST, 0);
	if (!shards[0]) {
		free(shards);
		return -ENOMEM;
	}
	heap->bytes += directory_bytes(0);
	heap->shards = shards;
	return 0;
}

/* Returns the shard if no other heap has it; otherwise replaces it by a copy. Returns NULL if out
 * of memory. */
static struct shard *shard_own(struct heap *heap, struct shard *shard, uint64_t hash)
{
	size_t bytes = shard_bytes(shard->capacity);
	struct shard *own;

	if (shard->owners == 1)
		return shard;
	own = malloc(bytes);
	if (!own)
		return NULL;
	memcpy(own, shard, bytes);
	own->owners = 1;
	directory_set(heap, hash, own);
	shard_drop(shard);
	return own;
}

/* Copies a shard to one with the right capacity for its count. */
static int shard_resize(struct heap *heap, struct shard *shard, uint64_t hash)
{
	struct shard *copy = shard_new(heap, capacity_for(shard->count), shard->depth);

	if (!copy)
		return -ENOMEM;
	for (uint32_t i = 0; i < shard->capacity; i++)
		if (shard->blocks[i].address)
			shard_insert(copy, &shard->blocks[i], hash_u64(shard->blocks[i].address));
	directory_set(heap, hash, copy);
	shard_free(heap, shard);
	return 0;
}

/* Returns true if the hash belongs to the upper half of a shard of this depth. */
static bool in_upper_half(uint64_t hash, uint32_t depth)
{
	return hash >> (63 - depth) & 1;
}

static int shard_halves(struct heap *heap, const struct shard *shard, struct shard *ret_halves[2])
{
	uint32_t upper = 0;

	for (uint32_t i = 0; i < shard->capacity; i++)
		if (shard->blocks[i].address)
			upper += in_upper_half(hash_u64(shard->blocks[i].address), shard->depth);
	ret_halves[0] = shard_new(heap, capacity_for(shard->count - upper), shard->depth + 1);
	ret_halves[1] = shard_new(heap, capacity_for(upper), shard->depth + 1);
	if (ret_halves[0] && ret_halves[1])
		return 0;
	shard_free(heap, ret_halves[0]);
	shard_free(heap, ret_halves[1]);
	return -ENOMEM;
}

static int shard_split(struct heap *heap, struct shard *shard, uint64_t hash)
{
	uint64_t half_bit = (uint64_t)1 << (63 - shard->depth);
	struct shard *halves[2];

	if (shard->depth == heap->depth && directory_double(heap))
		return -ENOMEM;
	if (shard_halves(heap, shard, halves))
		return -ENOMEM;
	for (uint32_t i = 0; i < shard->capacity; i++) {
		uint64_t block_hash = hash_u64(shard->blocks[i].address);

		if (shard->blocks[i].address)
			shard_insert(halves[in_upper_half(block_hash, shard->depth)],
				     &shard->blocks[i], block_hash);
	}
	directory_set(heap, hash & ~half_bit, halves[0]);
	directory_set(heap, hash | half_bit, halves[1]);
	shard_free(heap, shard);
	return 0;
}

static bool shard_is_full(const struct shard *shard)
{
	return (uint64_t)(shard->count + 1) * 5 > (uint64_t)shard->capacity * 4;
}

static bool shard_is_sparse(const struct shard *shard)
{
	return shard->capacity > 4 * SHARD_FIRST &&
	       (uint64_t)shard->count * 15 < (uint64_t)shard->capacity * 8;
}

static int shard_make_room(struct heap *heap, struct shard *shard, uint64_t hash)
{
	if (shard->capacity >= SHARD_SPLIT && shard->depth < DEPTH_MAX)
		return shard_split(heap, shard, hash);
	return shard_resize(heap, shard, hash);
}

/* Inserts a new block in a full shard. */
static int heap_put_crowded(struct heap *heap, const struct block *block, uint64_t hash)
{
	struct shard *shard = heap->shards[directory_index(heap, hash)];

	while (shard_is_full(shard)) {
		if (shard_make_room(heap, shard, hash))
			return -ENOMEM;
		shard = heap->shards[directory_index(heap, hash)];
	}
	shard_insert(shard, block, hash); /* the shard was just created, so it is not shared */
	heap->count++;
	return 0;
}

int heap_put(struct heap *heap, const struct block *block, struct block *ret_old)
{
	uint64_t hash = hash_u64(block->address);
	struct shard *shard;
	uint32_t slot;

	if (!heap->shards && heap_open(heap))
		return -ENOMEM;
	shard = heap->shards[directory_index(heap, hash)];
	slot = shard_slot(shard, block->address, hash);
	if (!shard->blocks[slot].address && shard_is_full(shard))
		return heap_put_crowded(heap, block, hash);
	shard = shard_own(heap, shard, hash);
	if (!shard)
		return -ENOMEM;
	if (shard->blocks[slot].address) {
		*ret_old = shard->blocks[slot];
		shard->blocks[slot] = *block;
		return 1;
	}
	shard->blocks[slot] = *block;
	shard->count++;
	heap->count++;
	return 0;
}

int heap_take(struct heap *heap, uint64_t address, struct block *ret_block)
{
	uint64_t hash = hash_u64(address);
	struct shard *shard;
	uint32_t slot;

	if (!heap->shards || !address)
		return 0;
	shard = heap->shards[directory_index(heap, hash)];
	slot = shard_slot(shard, address, hash);
	if (!shard->blocks[slot].address)
		return 0;
	shard = shard_own(heap, shard, hash);
	if (!shard)
		return -ENOMEM;
	*ret_block = shard->blocks[slot];
	shard_close_gap(shard, slot);
	shard->count--;
	heap->count--;
	if (shard_is_sparse(shard))
		(void)shard_resize(heap, shard, hash); /* if out of memory, it keeps its size */
	return 1;
}

const struct block *heap_find(const struct heap *heap, uint64_t address)
{
	uint64_t hash = hash_u64(address);
	const struct block *block;
	const struct shard *shard;

	if (!heap->shards || !address)
		return NULL;
	shard = heap->shards[directory_index(heap, hash)];
	block = &shard->blocks[shard_slot(shard, address, hash)];
	return block->address ? block : NULL;
}

static void shard_visit(const struct shard *shard, void (*visit)(void *, const struct block *),
			void *ctx)
{
	for (uint32_t i = 0; i < shard->capacity; i++)
		if (shard->blocks[i].address)
			visit(ctx, &shard->blocks[i]);
}

void heap_visit(const struct heap *heap, void (*visit)(void *, const struct block *), void *ctx)
{
	if (!heap->shards)
		return;
	for (size_t i = 0; i < (size_t)1 << heap->depth;) {
		shard_visit(heap->shards[i], visit, ctx);
		i += directory_span(heap, heap->shards[i]->depth);
	}
}

/* Calls `each` for every shard. The heap must not be empty. */
static void shards_each(const struct heap *heap, void (*each)(struct shard *shard))
{
	for (size_t i = 0; i < (size_t)1 << heap->depth;) {
		struct shard *shard = heap->shards[i];

		i += directory_span(heap, shard->depth);
		each(shard);
	}
}

static void shard_share(struct shard *shard)
{
	shard->owners++;
}

int heap_copy(struct heap *ret_copy, const struct heap *heap)
{
	struct heap copy = *heap;

	*ret_copy = (struct heap){0};
	if (!heap->shards)
		return 0;
	copy.shards = malloc(directory_bytes(heap->depth));
	if (!copy.shards)
		return -ENOMEM;
	memcpy(copy.shards, heap->shards, directory_bytes(heap->depth));
	shards_each(&copy, shard_share);
	*ret_copy = copy;
	return 0;
}

size_t heap_own_bytes(const struct heap *heap)
{
	size_t bytes = heap->shards ? directory_bytes(heap->depth) : 0;

	for (size_t i = 0; heap->shards && i < (size_t)1 << heap->depth;) {
		const struct shard *shard = heap->shards[i];

		i += directory_span(heap, shard->depth);
		bytes += shard_bytes(shard->capacity) / shard->owners;
	}
	return bytes;
}

void heap_free(struct heap *heap)
{
	if (heap->shards)
		shards_each(heap, shard_drop);
	free(heap->shards);
	*heap = (struct heap){0};
}
