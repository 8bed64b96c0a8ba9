/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of small numbers as bits, with a bit above each 64 bits that says whether any is set, and
 * so on: the next member is found in a step per level, however far it is. A work list that takes a
 * bit per block and can never overflow.
 */
#ifndef MTRACE_SCAN_BLOCK_BITSET_H
#define MTRACE_SCAN_BLOCK_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITSET_LEVELS 6 /* 2^36 */
#define BITSET_NONE   UINT32_MAX

/* Zeroed memory is an empty set with no room. */
struct bitset {
	uint64_t *levels[BITSET_LEVELS]; /* the members first; one allocation */
	unsigned int level_count;
	uint32_t size;
	size_t bytes;
};

/* For numbers below size: 0 or -ENOMEM. */
int bitset_init(struct bitset *set, uint32_t size);
void bitset_free(struct bitset *set);
size_t bitset_memory(uint32_t size);
void bitset_clear(struct bitset *set);
void bitset_add(struct bitset *set, uint32_t number);
void bitset_remove(struct bitset *set, uint32_t number);
static inline bool bitset_is_empty(const struct bitset *set)
{
	return !set->levels[set->level_count - 1][0];
}

/* The least member that is at least `from`, or BITSET_NONE. */
uint32_t bitset_next(const struct bitset *set, uint32_t from);

#endif
