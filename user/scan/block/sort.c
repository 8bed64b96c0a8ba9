/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * American flag sort: counts the items of each digit, then moves each item to its digit's part of
 * the array, following the chain of displaced items; then sorts each part by the next digit. Digits
 * that all items have in common are skipped.
 */
#include "scan/block/sort.h"

#define DIGIT_BITS 8
#define DIGITS     (1u << DIGIT_BITS)
#define FEW        24 /* up to this many items are sorted by insertion */

static void sort_few(struct sized_block *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct sized_block item = items[i];
		size_t at = i;

		for (; at && items[at - 1].address > item.address; at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

static unsigned int digit_of(const struct sized_block *item, unsigned int shift)
{
	return (unsigned int)(item->address >> shift) & (DIGITS - 1);
}

static void permute(struct sized_block *items, unsigned int shift, size_t next[DIGITS],
		    const size_t end[DIGITS])
{
	for (unsigned int digit = 0; digit < DIGITS; digit++) {
		while (next[digit] < end[digit]) {
			struct sized_block item = items[next[digit]];
			unsigned int home = digit_of(&item, shift);

			while (home != digit) {
				struct sized_block displaced = items[next[home]];

				items[next[home]++] = item;
				item = displaced;
				home = digit_of(&item, shift);
			}
			items[next[digit]++] = item;
		}
	}
}

/* Returns the shift, in bits, of the highest digit in which the items differ. */
static unsigned int highest_difference(const struct sized_block *items, size_t count)
{
	uint64_t differs = 0;

	for (size_t i = 1; i < count; i++)
		differs |= items[i].address ^ items[0].address;
	return differs ? (63 - (unsigned int)__builtin_clzll(differs)) / DIGIT_BITS * DIGIT_BITS
		       : 0;
}

void sort_blocks(struct sized_block *items, size_t count)
{
	size_t next[DIGITS], end[DIGITS] = {0}; /* `end` has counts first, then ends of parts */
	unsigned int shift;

	if (count <= FEW) {
		sort_few(items, count);
		return;
	}
	shift = highest_difference(items, count);
	for (size_t i = 0; i < count; i++)
		end[digit_of(&items[i], shift)]++;
	for (unsigned int digit = 0; digit < DIGITS; digit++) {
		next[digit] = digit ? end[digit - 1] : 0;
		end[digit] += next[digit];
	}
	permute(items, shift, next, end);
	for (unsigned int digit = 0; shift && digit < DIGITS; digit++) {
		size_t first = digit ? end[digit - 1] : 0;

		if (end[digit] - first > 1)
			sort_blocks(items + first, end[digit] - first);
	}
}
