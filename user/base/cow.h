/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copy-on-write arrays and maps. A copy is cheap: it shares the pieces of the original, and a piece
 * is duplicated only when one of its owners writes to it, like memory after fork.
 *
 * A pointer from cow_read or cow_write is valid until the next write or growth. Not thread-safe.
 */
#ifndef MTRACE_BASE_COW_H
#define MTRACE_BASE_COW_H

#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"

#define COW_PIECE_BITS  6
#define COW_PIECE_ITEMS (1u << COW_PIECE_BITS)

struct cow_piece {
	uint32_t owners;
	_Alignas(8) unsigned char items[];
};

/* An array that grows at its end. An all-zero array is empty. New items are zeroed. */
struct cow_array {
	VEC(struct cow_piece *) pieces;
	size_t count;
};

/* The address of an item, for reading only. Requires index < count. */
static inline const void *cow_read(const struct cow_array *array, size_t index, size_t item_size)
{
	return array->pieces.items[index >> COW_PIECE_BITS]->items +
	       (index & (COW_PIECE_ITEMS - 1)) * item_size;
}

/* The address of an item, for writing: first makes the piece private to this array. Returns NULL if
 * out of memory. */
void *cow_write(struct cow_array *array, size_t index, size_t item_size);
/* Appends `count` zeroed items. Returns 0 or -ENOMEM. */
int cow_grow(struct cow_array *array, size_t count, size_t item_size);
/* Makes *ret_copy a copy of the array, sharing its pieces. Returns 0 or -ENOMEM (then *ret_copy is
 * empty). */
int cow_copy(struct cow_array *ret_copy, const struct cow_array *array);
/* Returns the memory use of the array, in bytes; of a piece that n arrays share, 1/n. */
size_t cow_own_bytes(const struct cow_array *array, size_t item_size);
void cow_free(struct cow_array *array);

/* Like struct map64, but without deletion. An all-zero map is empty. */
struct cow_map {
	struct cow_array entries; /* capacity: a power of two, or 0 */
	size_t count;
};

uint32_t cow_map_get(const struct cow_map *map, uint64_t key);         /* or MAP64_NONE */
int cow_map_set(struct cow_map *map, uint64_t key, uint32_t value);    /* 0 or -ENOMEM */
int cow_map_copy(struct cow_map *ret_copy, const struct cow_map *map); /* 0 or -ENOMEM */
/* Visits all entries, in no particular order. */
void cow_map_visit(const struct cow_map *map,
		   void (*visit)(void *ctx, uint64_t key, uint32_t value), void *ctx);
void cow_map_free(struct cow_map *map);

#endif
