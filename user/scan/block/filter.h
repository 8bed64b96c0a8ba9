/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the words of a piece of memory that could point into the heap, with or without a tag. Some
 * programs keep a number in the upper 16 bits of a pointer, which addresses of 48 bits leave
 * unused.
 */
#ifndef MTRACE_SCAN_BLOCK_FILTER_H
#define MTRACE_SCAN_BLOCK_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filter;

/* Finds the words w with low <= (w & address bits) < high. */
typedef size_t filter_words(const struct filter *filter, const void *data, size_t count,
			    uint64_t *words, uint32_t *positions);

struct filter {
	uint64_t low;
	uint64_t width; /* high - low */
	uint64_t least; /* the initial low and high */
	uint64_t most;
	uint64_t address_bits; /* of a word; the others may be a tag */
	filter_words *run;
};

/* The fastest instructions to use, if the processor has them. */
enum filter_speed { FILTER_FASTEST, FILTER_AVX2, FILTER_PORTABLE };

/* `word` is 4 or 8 bytes; low <= high. Words of 4 bytes and addresses above 2^48 have no tags. */
void filter_init(struct filter *filter, unsigned int word, uint64_t low, uint64_t high,
		 enum filter_speed speed);

/* Returns true if no word can pass. */
static inline bool filter_is_closed(const struct filter *filter)
{
	return !filter->width;
}

/* Narrows the range, within the initial one. */
void filter_limit(struct filter *filter, uint64_t low, uint64_t high);

/*
 * Stores the values and byte offsets of those of the `count` words that pass. The data need not be
 * aligned. Both arrays have room for `count`. Returns how many passed.
 */
static inline size_t filter_run(const struct filter *filter, const void *data, size_t count,
				uint64_t *words, uint32_t *positions)
{
	return filter->run(filter, data, count, words, positions);
}

#endif
