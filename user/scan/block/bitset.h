/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of small numbers as bits. Each 64 bits have one bit above them, which is set if any of them
 * is, and so on for each level. So the next member is found in one step per level, however far away
 * it is. It serves as a work list that takes one bit per block and cannot overflow.
 */
#ifndef MTRACE_SCAN_BLOCK_BITSET_H
#define MTRACE_SCAN_BLOCK_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITSET_LEVELS 6 /* 2^36 */
#define BITSET_NONE   UINT32_MAX

/* All zero: an empty set without room. */
struct bitset {
	uint64_t *levels[BITSET_LEVELS]; /* levels[0] has the members; one allocation */
	unsigned int level_count;
	uint32_t size;
	size_t bytes;
};

/* Makes room for numbers below size. Returns 0 or -ENOMEM. */
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

/* Returns the smallest member that is not less than `from`, or BITSET_NONE. */
uint32_t bitset_next(const struct bitset *set, uint32_t from);

#endif
