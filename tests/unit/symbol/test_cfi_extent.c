// SPDX-License-Identifier: GPL-2.0-or-later
/* Extents are sorted like a stable sort. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "symbol/cfi/extent.h"

#define EXTENTS_MAX 1000

static void check_sorted(const struct cfi_extent *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (items[i - 1].start > items[i].start ||
		    (items[i - 1].start == items[i].start && items[i - 1].fde >= items[i].fde))
			fail_msg("%zu of %zu", i, count);
}

/* If the mask has few bits, many extents have the same start. */
static void check_sort(size_t count, uint32_t mask)
{
	struct cfi_extent items[EXTENTS_MAX];
	uint64_t sum = 0, sorted_sum = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t start = ((uint32_t)rand() << 16 ^ (uint32_t)rand()) & mask;

		items[i] = (struct cfi_extent){start, ~start, (uint32_t)i};
		sum += start;
	}
	assert_int_equal(cfi_extents_sort(items, count), 0);
	check_sorted(items, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(items[i].end, ~items[i].start);
		sorted_sum += items[i].start;
	}
	assert_int_equal(sorted_sum, sum);
}

static void test_sort(void **state)
{
	static const uint32_t masks[] = {0, 0xf, 0xff00, 0x00ff00ff, 0x80000001, UINT32_MAX};

	(void)state;
	srand(1);
	assert_int_equal(cfi_extents_sort(NULL, 0), 0);
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		for (size_t count = 1; count <= EXTENTS_MAX; count = count * 3 / 2 + 1)
			check_sort(count, masks[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
