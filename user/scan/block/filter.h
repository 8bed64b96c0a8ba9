/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which words of a piece of memory could point into the heap at all? */
#ifndef MTRACE_SCAN_BLOCK_FILTER_H
#define MTRACE_SCAN_BLOCK_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filter;

/* The words w with low <= w < high. */
typedef size_t filter_words(const struct filter *filter, const void *data, size_t count,
			    uint64_t *words, uint32_t *positions);

struct filter {
	uint64_t low;
	uint64_t width; /* high - low */
	uint64_t least; /* what low and high were in the beginning */
	uint64_t most;
	filter_words *run;
};

/* What to use at most, of what the processor has. */
enum filter_speed { FILTER_FASTEST, FILTER_AVX2, FILTER_PORTABLE };

/* word: 4 or 8 bytes; low <= high. */
void filter_init(struct filter *filter, unsigned int word, uint64_t low, uint64_t high,
		 enum filter_speed speed);

/* Can no word pass? */
static inline bool filter_is_closed(const struct filter *filter)
{
	return !filter->width;
}

/* Narrower limits than it began with; what lies outside of those does not count. */
void filter_limit(struct filter *filter, uint64_t low, uint64_t high);

/*
 * Of `count` words of the data (which need not be aligned), those that pass: their values and their
 * offsets in bytes. Both arrays have room for `count`. Returns how many there are.
 */
static inline size_t filter_run(const struct filter *filter, const void *data, size_t count,
				uint64_t *words, uint32_t *positions)
{
	return filter->run(filter, data, count, words, positions);
}

#endif
