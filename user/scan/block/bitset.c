/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scan/block/bitset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64

static size_t words_for(size_t bits)
{
	return bits / WORD_BITS + 1;
}

int bitset_init(struct bitset *set, uint32_t size)
{
	size_t total = 0, words = words_for(size);
	uint64_t *bits;

	*set = (struct bitset){.size = size};
	for (;; words = words_for(words)) {
		total += words;
		set->level_count++;
		if (words == 1)
			break;
	}
	bits = calloc(total, sizeof(*bits));
	if (!bits)
		return -ENOMEM;
	set->bytes = total * sizeof(*bits);
	words = words_for(size);
	for (unsigned int i = 0; i < set->level_count; i++, words = words_for(words)) {
		set->levels[i] = bits;
		bits += words;
	}
	return 0;
}

size_t bitset_memory(uint32_t size)
{
	size_t words = words_for(size), total = words;

	while (words > 1)
		total += words = words_for(words);
	return total * sizeof(uint64_t);
}

void bitset_free(struct bitset *set)
{
	free(set->levels[0]);
	*set = (struct bitset){0};
}

void bitset_clear(struct bitset *set)
{
	memset(set->levels[0], 0, set->bytes);
}

void bitset_add(struct bitset *set, uint32_t number)
{
	for (unsigned int i = 0; i < set->level_count; i++, number /= WORD_BITS) {
		uint64_t *word = &set->levels[i][number / WORD_BITS];
		bool empty = !*word;

		*word |= 1ULL << number % WORD_BITS;
		if (!empty)
			break;
	}
}

void bitset_remove(struct bitset *set, uint32_t number)
{
	for (unsigned int i = 0; i < set->level_count; i++, number /= WORD_BITS) {
		uint64_t *word = &set->levels[i][number / WORD_BITS];

		*word &= ~(1ULL << number % WORD_BITS);
		if (*word)
			break;
	}
}

/* Descends from a bit of a level to the first member below it. */
static uint32_t descend(const struct bitset *set, unsigned int level, uint32_t bit)
{
	while (level-- > 0)
		bit = bit * WORD_BITS + (uint32_t)__builtin_ctzll(set->levels[level][bit]);
	return bit;
}

uint32_t bitset_next(const struct bitset *set, uint32_t from)
{
	for (unsigned int i = 0; i < set->level_count; i++) {
		uint32_t word = from / WORD_BITS;
		uint64_t rest = set->levels[i][word] & ~0ULL << from % WORD_BITS;

		if (rest)
			return descend(set, i, word * WORD_BITS + (uint32_t)__builtin_ctzll(rest));
		from = word + 1; /* a bit of the next level; words_for() leaves room for it */
	}
	return BITSET_NONE;
}
