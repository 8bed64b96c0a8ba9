// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linkers write FDEs in the order of the object files, but may place functions in another order,
 * for example to group hot ones. Unsorted extents are radix sorted, least significant digit first.
 */
#include "symbol/cfi/extent.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define DIGIT_BITS 8
#define DIGITS     (1u << DIGIT_BITS)

static unsigned int digit_of(const struct cfi_extent *extent, unsigned int shift)
{
	return extent->start >> shift & (DIGITS - 1);
}

static void sort_by_digit(const struct cfi_extent *items, size_t count, unsigned int shift,
			  struct cfi_extent *ret_items)
{
	size_t next[DIGITS + 1] = {0}; /* where the next item with a digit goes */

	for (size_t i = 0; i < count; i++)
		next[digit_of(&items[i], shift) + 1]++;
	for (unsigned int digit = 0; digit < DIGITS; digit++)
		next[digit + 1] += next[digit];
	for (size_t i = 0; i < count; i++)
		ret_items[next[digit_of(&items[i], shift)]++] = items[i];
}

static bool is_sorted(const struct cfi_extent *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (items[i - 1].start > items[i].start)
			return false;
	return true;
}

int cfi_extents_sort(struct cfi_extent *items, size_t count)
{
	struct cfi_extent *other;

	if (is_sorted(items, count))
		return 0;
	other = malloc(count * sizeof(*other));
	if (!other)
		return -ENOMEM;
	for (unsigned int shift = 0; shift < 32; shift += 2 * DIGIT_BITS) {
		sort_by_digit(items, count, shift, other);
		sort_by_digit(other, count, shift + DIGIT_BITS, items);
	}
	free(other);
	return 0;
}
