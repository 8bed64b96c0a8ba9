/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A world with an area of roots and a heap of small blocks. Include cmocka.h first. */
#ifndef MTRACE_TESTS_SCAN_HEAP_WORLD_H
#define MTRACE_TESTS_SCAN_HEAP_WORLD_H

#include "tests/unit/scan/scan_world.h"

#define ROOT 0x10000ULL
#define HEAP 0x5000000ULL
#define SIZE 0x100000ULL
#define STEP 0x40ULL /* distance of the blocks of a test */

/* Roots, and a heap with `count` blocks of 48 bytes, STEP apart. */
static inline void furnish(struct world *world, size_t count)
{
	world_init(world);
	world_area(world, ROOT, 0x4000);
	world_area(world, HEAP, SIZE);
	for (size_t i = 0; i < count; i++)
		world_block(world, HEAP + i * STEP, 48);
}

static inline uint64_t block(size_t i)
{
	return HEAP + i * STEP;
}

/* The classes of the first blocks as letters: reachable, possible, unknown, indirect, definite. */
static inline void expect(struct world *world, const char *classes)
{
	char found[64] = {0};

	assert_int_equal(world_scan(world), 0);
	for (size_t i = 0; classes[i]; i++)
		found[i] = leak_class_name(world_class(world, block(i)))[0];
	assert_string_equal(found, classes);
}

#endif
