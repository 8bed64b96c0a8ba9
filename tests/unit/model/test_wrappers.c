/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares with a list that is searched from its start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "model/process/wrappers.h"

#define ROUNDS 20000
#define SPACE  4096 /* bytes of code */
#define SIZE   24   /* of a wrapper; they start at multiples of it */

static struct event_wrapper list[SPACE];
static size_t count;

static void list_add(struct event_wrapper wrapper)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].start == wrapper.start && list[i].end == wrapper.end &&
		    list[i].api == wrapper.api)
			return;
	list[count++] = wrapper;
}

static void list_drop(uint64_t start, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (list[i].end <= start || list[i].start >= end)
			list[kept++] = list[i];
	count = kept;
}

static enum api list_find(uint64_t caller)
{
	for (size_t i = 0; i < count; i++)
		if (caller > list[i].start && caller - 1 < list[i].end)
			return list[i].api;
	return API_NONE;
}

static void check(const struct wrappers *wrappers)
{
	assert_int_equal(wrappers->sorted.count, count);
	for (uint64_t caller = 0; caller < SPACE + 2 * SIZE; caller++)
		assert_int_equal(wrappers_find(wrappers, caller), list_find(caller));
}

/* Aliases have the same address, and the first one counts. */
static void finds_what_a_search_of_all_finds(void **state)
{
	struct wrappers wrappers = {0}, copy = {0};

	(void)state;
	srandom(1);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = (uint64_t)random() % (SPACE / SIZE) * SIZE;
		struct event_wrapper wrapper = {
			.start = start,
			.end = start + 1 + (uint64_t)random() % SIZE,
			.api = random() % 2 ? API_NEW : API_NEW_ARRAY,
		};

		if (random() % 8) {
			list_add(wrapper);
			assert_int_equal(wrappers_add(&wrappers, &wrapper), 0);
		} else {
			uint64_t end = start + 1 + (uint64_t)random() % 300;

			list_drop(start, end);
			wrappers_drop(&wrappers, start, end);
		}
		if (i % 100 == 0)
			check(&wrappers);
	}
	assert_int_equal(wrappers_copy(&copy, &wrappers), 0);
	wrappers_free(&wrappers);
	check(&copy);
	wrappers_free(&copy);
}

static void an_empty_set_has_none(void **state)
{
	struct wrappers wrappers = {0};

	(void)state;
	wrappers_drop(&wrappers, 0, UINT64_MAX);
	assert_int_equal(wrappers_find(&wrappers, 0), API_NONE);
	assert_int_equal(wrappers_find(&wrappers, UINT64_MAX), API_NONE);
	wrappers_free(&wrappers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_a_search_of_all_finds),
		cmocka_unit_test(an_empty_set_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
