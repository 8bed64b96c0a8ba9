/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interior pointers that count as references to the start of a block: redis' strings, glibc's index
 * of thread-local storage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/scan/scan_world.h"

#define ROOT 0x10000ULL
#define HEAP 0x5000000ULL
#define SIZE 0x10000ULL
#define STEP 0x800ULL /* distance of the blocks of a test */

/* Roots, and a heap without blocks. */
static void furnish(struct world *world)
{
	world_init(world);
	world_area(world, ROOT, 0x4000);
	world_area(world, HEAP, SIZE);
}

static uint64_t block(size_t i)
{
	return HEAP + i * STEP;
}

/* The classes of the first blocks as letters: reachable, possible. */
static void expect(struct world *world, const char *classes)
{
	char found[64] = {0};

	assert_int_equal(world_scan(world), 0);
	for (size_t i = 0; classes[i]; i++)
		found[i] = leak_class_name(world_class(world, block(i)))[0];
	assert_string_equal(found, classes);
}

/* Like redis: the header, and characters. */
static void put_sds(struct world *world, uint64_t address, unsigned int type, uint64_t length,
		    uint64_t room)
{
	static const unsigned int widths[] = {0, 1, 2, 4};
	unsigned char *bytes = world_bytes(world, address);
	unsigned int width = widths[type];

	memcpy(bytes, &length, width);
	memcpy(bytes + width, &room, width);
	bytes[2 * width] = (unsigned char)(width ? type : length << 3);
	memset(bytes + 2 * width + 1, 'a', length);
}

struct sds_row {
	uint64_t size; /* of the block */
	unsigned int type;
	uint64_t length, room;
	uint64_t offset; /* where the root points */
	char expected;
};

static const struct sds_row sds_rows[] = {
	{7, 0, 5, 0, 1, 'r'},    /* the smallest */
	{8, 0, 5, 0, 1, 'p'},    /* one byte too many */
	{7, 0, 5, 0, 3, 'p'},    /* not the start of the characters */
	{44, 1, 40, 40, 3, 'r'}, /* no more capacity than characters */
	{44, 1, 30, 44, 3, 'r'}, /* including the excess of the allocator */
	{44, 1, 40, 39, 3, 'p'}, /* more characters than capacity */
	{44, 1, 40, 70, 3, 'p'}, /* more excess than any allocator gives */
	{44, 1, 40, 40, 5, 'p'}, /* of another type */
	{44, 1, 50, 50, 3, 'r'}, /* the 0 is in the excess of the allocator */
	{306, 2, 300, 304, 5, 'r'},    {306, 2, 300, 200, 5, 'p'}, {1034, 3, 1024, 1024, 9, 'r'},
	{1034, 3, 1024, 1024, 8, 'p'}, {1034, 3, 0, 1024, 9, 'r'},
};

static void test_idiom_sds(void **state)
{
	char expected[sizeof(sds_rows) / sizeof(sds_rows[0]) + 1] = "";

	(void)state;
	for (unsigned int word = 4; word <= 8; word += 4) {
		struct world world;

		furnish(&world);
		world.input.word = world.input.step = word;
		for (size_t i = 0; i < sizeof(sds_rows) / sizeof(sds_rows[0]); i++) {
			const struct sds_row *row = &sds_rows[i];

			uint64_t start = block(i);

			world_block(&world, start, row->size);
			put_sds(&world, start, row->type, row->length, row->room);
			world_put(&world, ROOT + i * 8, start + row->offset);
			expected[i] = row->expected;
		}
		expect(&world, expected);
		world_free(&world);
	}
}

/* Characters where the 0 should be. */
static void test_idiom_sds_without_end(void **state)
{
	struct world world;

	(void)state;
	furnish(&world);
	world_block(&world, block(0), 44);
	put_sds(&world, block(0), 1, 30, 40);
	world_bytes(&world, block(0) + 33)[0] = 'x';
	world_put(&world, ROOT, block(0) + 3);
	expect(&world, "p");
	world_free(&world);
}

/* Side by side, as in some allocators. */
static void test_idiom_sds_in_small_blocks(void **state)
{
	struct world world;

	(void)state;
	furnish(&world);
	for (size_t i = 0; i < 4; i++) {
		world_block(&world, HEAP + i * 8, 8);
		put_sds(&world, HEAP + i * 8, 0, 6, 0);
		world_put(&world, ROOT + i * 8, HEAP + i * 8 + 1);
	}
	assert_int_equal(world_scan(&world), 0);
	assert_int_equal(world.result.classes[LEAK_REACHABLE].blocks, 4);
	world_free(&world);
}

/* glibc's index of thread-local storage: the thread descriptor points past the first entry. */
static void test_idiom_dtv(void **state)
{
	(void)state;
	for (unsigned int word = 4; word <= 8; word += 4) {
		struct world world;
		uint64_t entry = 2 * word, size = 18 * entry;

		furnish(&world);
		world.input.word = world.input.step = word;
		for (size_t i = 0; i < 5; i++) {
			world_block(&world, block(i), size);
			world_put(&world, block(i), 16);
			world_put(&world, block(i) + entry, 1);
			world_put(&world, ROOT + i * 8, block(i) + entry);
		}
		world_put(&world, block(1), 15);                  /* not filled */
		world_put(&world, block(2) + word, 1);            /* must be zero */
		world_put(&world, ROOT + 3 * 8, block(3) + word); /* not past the first entry */
		world_put(&world, ROOT + 4 * 8, block(4) + 2 * entry);
		expect(&world, "rpppp");
		world_free(&world);
	}
}

/* An array of objects with a destructor on ARM: their size, their number, and the objects. */
static void test_idiom_sized_array(void **state)
{
	(void)state;
	for (unsigned int word = 4; word <= 8; word += 4) {
		struct world world;

		furnish(&world);
		world.input.word = world.input.step = word;
		for (size_t i = 0; i < 4; i++) {
			world_block(&world, block(i), 8 + 6 * 20);
			world_put(&world, block(i), 20);
			world_put(&world, block(i) + 4, 6);
			world_put(&world, ROOT + i * 8, block(i) + 8);
		}
		world_put(&world, block(1) + 4, 5);             /* fewer than fit */
		world_put(&world, ROOT + 2 * 8, block(2) + 12); /* not the first one */
		world_put(&world, block(3), 23);                /* of another size */
		expect(&world, word == 4 ? "rppp" : "pppp");
		world_free(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idiom_sds),
		cmocka_unit_test(test_idiom_sds_without_end),
		cmocka_unit_test(test_idiom_sds_in_small_blocks),
		cmocka_unit_test(test_idiom_dtv),
		cmocka_unit_test(test_idiom_sized_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
