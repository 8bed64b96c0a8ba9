/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map from a 64-bit key to a 32-bit value (usually an index into a vector). It uses open
 * addressing with linear probing and grows at a load of 3/4. Deletion shifts entries back, so there
 * are no tombstones and lookups do not get slower over time.
 */
#ifndef MTRACE_BASE_MAP64_H
#define MTRACE_BASE_MAP64_H

#include <stddef.h>
#include <stdint.h>

#define MAP64_NONE UINT32_MAX /* returned if the key is not in the map; not allowed as a value */

struct map64_entry {
	uint64_t key;
	uint32_t value;
};

struct map64 {
	struct map64_entry *entries; /* NULL while empty */
	size_t mask;                 /* capacity - 1 */
	size_t count;
};

/* An all-zero map is empty. Returns MAP64_NONE if the key is not in the map. */
uint32_t map64_get(const struct map64 *map, uint64_t key);
int map64_set(struct map64 *map, uint64_t key, uint32_t value); /* 0 or -ENOMEM */
/* Overwrites *ret_copy, without freeing it. The caller owns the copy. Returns 0 or -ENOMEM. */
int map64_copy(struct map64 *ret_copy, const struct map64 *map);
void map64_delete(struct map64 *map, uint64_t key);
void map64_free(struct map64 *map);

/* The memory that the map has allocated. */
static inline size_t map64_bytes(const struct map64 *map)
{
	return map->entries ? (map->mask + 1) * sizeof(*map->entries) : 0;
}

/* Mixes 64 bits (the finalizer of MurmurHash3, public domain). */
static inline uint64_t hash_u64(uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdULL;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53ULL;
	key ^= key >> 33;
	return key;
}

#endif
