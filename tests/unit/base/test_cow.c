/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays and maps that share pieces with their copies: writes by one owner are not visible to
 * others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cow.h"
#include "model/site/frames.h"

#define ITEMS 1000
#define KEYS  3000

static uint64_t item_of(const struct cow_array *array, size_t index)
{
	return *(const uint64_t *)cow_read(array, index, sizeof(uint64_t));
}

static void item_set(struct cow_array *array, size_t index, uint64_t value)
{
	uint64_t *item = cow_write(array, index, sizeof(*item));

	assert_non_null(item);
	*item = value;
}

static void test_empty(void **state)
{
	struct cow_array array = {.count = 0}, copy;
	struct cow_map map = {.count = 0}, map_copy;

	(void)state;
	assert_int_equal(cow_copy(&copy, &array), 0);
	assert_int_equal(copy.count, 0);
	cow_free(&copy);
	cow_free(&array);
	assert_int_equal(cow_map_get(&map, 1), MAP64_NONE);
	assert_int_equal(cow_map_copy(&map_copy, &map), 0);
	assert_int_equal(cow_map_get(&map_copy, 1), MAP64_NONE);
	cow_map_free(&map_copy);
	cow_map_free(&map);
}

static void test_array(void **state)
{
	struct cow_array parent = {.count = 0}, child;

	(void)state;
	assert_int_equal(cow_grow(&parent, ITEMS, sizeof(uint64_t)), 0);
	for (size_t i = 0; i < ITEMS; i++) {
		assert_int_equal(item_of(&parent, i), 0);
		item_set(&parent, i, i);
	}
	assert_int_equal(cow_copy(&child, &parent), 0);
	assert_ptr_equal(cow_read(&child, 7, sizeof(uint64_t)),
			 cow_read(&parent, 7, sizeof(uint64_t)));
	item_set(&child, 7, 70);
	item_set(&parent, 8, 80);
	assert_int_equal(item_of(&parent, 7), 7);
	assert_int_equal(item_of(&child, 8), 8);
	assert_int_equal(cow_grow(&child, 1, sizeof(uint64_t)), 0);
	assert_int_equal(item_of(&child, ITEMS), 0);
	assert_int_equal(parent.count, ITEMS);
	cow_free(&parent);
	for (size_t i = 0; i < ITEMS; i++)
		assert_int_equal(item_of(&child, i), i == 7 ? 70 : i);
	cow_free(&child);
}

/* A piece with a single owner is not copied. */
static void test_writes_in_place(void **state)
{
	struct cow_array parent = {.count = 0}, child;
	const void *place;

	(void)state;
	assert_int_equal(cow_grow(&parent, 1, sizeof(uint64_t)), 0);
	place = cow_read(&parent, 0, sizeof(uint64_t));
	assert_int_equal(cow_copy(&child, &parent), 0);
	cow_free(&child);
	item_set(&parent, 0, 1);
	assert_ptr_equal(cow_read(&parent, 0, sizeof(uint64_t)), place);
	cow_free(&parent);
}

static void test_map(void **state)
{
	struct cow_map parent = {.count = 0}, child;

	(void)state;
	for (uint32_t i = 0; i < KEYS; i++)
		assert_int_equal(cow_map_set(&parent, i * 7ULL, i), 0);
	assert_int_equal(cow_map_copy(&child, &parent), 0);
	for (uint32_t i = 0; i < KEYS; i++) {
		assert_int_equal(cow_map_set(&child, i * 7ULL, i + 1), 0);
		assert_int_equal(cow_map_set(&child, i * 7ULL + 1, i), 0);
	}
	assert_int_equal(parent.count, KEYS);
	assert_int_equal(child.count, 2 * KEYS);
	for (uint32_t i = 0; i < KEYS; i++) {
		assert_int_equal(cow_map_get(&parent, i * 7ULL), i);
		assert_int_equal(cow_map_get(&parent, i * 7ULL + 1), MAP64_NONE);
		assert_int_equal(cow_map_get(&child, i * 7ULL), i + 1);
		assert_int_equal(cow_map_get(&child, i * 7ULL + 1), i);
	}
	cow_map_free(&parent);
	assert_int_equal(cow_map_get(&child, 7), 2);
	cow_map_free(&child);
}

/* Frames that a child inherited stay valid at the same address when the parent is freed. */
static void test_frames_outlive_the_parent(void **state)
{
	struct frame_store *parent = NULL, *child, *grandchild;
	const uint64_t *kept[ITEMS];
	uint64_t frames[127];

	(void)state;
	for (uint64_t i = 0; i < ITEMS; i++) {
		memset(frames, (int)i, sizeof(frames));
		kept[i] = frame_store_keep(&parent, frames, 1 + i % 127);
		assert_non_null(kept[i]);
	}
	assert_int_equal(frame_store_branch(&child, parent), 0);
	assert_int_equal(frame_store_branch(&grandchild, child), 0);
	frame_store_free(parent);
	frame_store_free(child);
	for (uint64_t i = 0; i < ITEMS; i++) {
		memset(frames, (int)i, sizeof(frames));
		assert_memory_equal(kept[i], frames, (1 + i % 127) * sizeof(*frames));
	}
	assert_non_null(frame_store_keep(&grandchild, frames, 127));
	frame_store_free(grandchild);
	assert_int_equal(frame_store_branch(&child, NULL), 0);
	assert_null(child);
	frame_store_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_array),
		cmocka_unit_test(test_writes_in_place),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_frames_outlive_the_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
