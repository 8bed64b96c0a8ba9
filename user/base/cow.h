/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays and maps that can be copied for next to nothing: a copy shares the pieces that they are
 * made of, and a piece is copied when one of its owners writes to it. As memory is at fork.
 *
 * What is read through a pointer may move at the next write or growth. One thread; no locks.
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

/* An array that grows at its end. Zeroed memory is an empty one. New items are zeroed. */
struct cow_array {
	VEC(struct cow_piece *) pieces;
	size_t count;
};

/* An item's address for reading; index < count. */
static inline const void *cow_read(const struct cow_array *array, size_t index, size_t item_size)
{
	return array->pieces.items[index >> COW_PIECE_BITS]->items +
	       (index & (COW_PIECE_ITEMS - 1)) * item_size;
}

/* The same for writing: nobody else sees it. NULL if out of memory. */
void *cow_write(struct cow_array *array, size_t index, size_t item_size);
/* Append items; 0 or -ENOMEM. */
int cow_grow(struct cow_array *array, size_t count, size_t item_size);
/* *ret_copy: as the array is now. 0 or -ENOMEM, and then it is empty. */
int cow_copy(struct cow_array *ret_copy, const struct cow_array *array);
void cow_free(struct cow_array *array);

/* A map64 from which nothing is ever taken. Zeroed memory is an empty map. */
struct cow_map {
	struct cow_array entries; /* a power of two, or none */
	size_t count;
};

uint32_t cow_map_get(const struct cow_map *map, uint64_t key);         /* or MAP64_NONE */
int cow_map_set(struct cow_map *map, uint64_t key, uint32_t value);    /* 0 or -ENOMEM */
int cow_map_copy(struct cow_map *ret_copy, const struct cow_map *map); /* 0 or -ENOMEM */
/* All entries, in no particular order. */
void cow_map_visit(const struct cow_map *map,
		   void (*visit)(void *ctx, uint64_t key, uint32_t value), void *ctx);
void cow_map_free(struct cow_map *map);

#endif
