/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where there is room for the code of gates: tables of mappings, and this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gate/place/area.h"

#define MIB      (1ULL << 20)
#define GIB      (1ULL << 30)
#define REACH    (2 * GIB - MIB)
#define DISTANCE 0x10000ULL
#define PROGRAM  0x555555554000ULL
#define LIBC     0x7f0000000000ULL
#define HIGHEST  0x7ffff7a00000ULL
#define TOP      0x7ffffffff000ULL
#define RANGES   6

struct row {
	const char *name;
	struct area_range ranges[RANGES]; /* up to the first with end 0 */
	uint64_t low, high, size;
	uint64_t expected; /* 0: -ENOSPC */
};

static const struct row rows[] = {
	{"nothing is mapped", {{0, 0, 0}}, 0x400000, 0x401000, 0x2000, 0x3fe000},
	{"below a program",
	 {{PROGRAM, PROGRAM + MIB, AREA_OTHER}, {PROGRAM + MIB, PROGRAM + 2 * MIB, AREA_HEAP}},
	 PROGRAM,
	 PROGRAM + MIB,
	 0x3000,
	 PROGRAM - DISTANCE - 0x3000},
	{"the size is rounded up",
	 {{PROGRAM, PROGRAM + MIB, AREA_OTHER}},
	 PROGRAM,
	 PROGRAM + MIB,
	 1,
	 PROGRAM - DISTANCE - 0x1000},
	{"the nearer gap is above",
	 {{LIBC - GIB, LIBC + MIB, AREA_OTHER}, {LIBC + 3 * MIB, LIBC + 4 * MIB, AREA_OTHER}},
	 LIBC,
	 LIBC + MIB,
	 MIB,
	 LIBC + MIB + DISTANCE},
	{"a gap that is too small for the distances",
	 {{LIBC - MIB, LIBC + MIB, AREA_OTHER},
	  {LIBC + MIB + 2 * DISTANCE, LIBC + 2 * MIB, AREA_OTHER}},
	 LIBC,
	 LIBC + MIB,
	 0x1000,
	 LIBC - MIB - DISTANCE - 0x1000},
	{"a gap that just fits",
	 {{LIBC - MIB, LIBC + MIB, AREA_OTHER},
	  {LIBC + MIB + 2 * DISTANCE + 0x1000, LIBC + 2 * MIB, AREA_OTHER}},
	 LIBC,
	 LIBC + MIB,
	 0x1000,
	 LIBC + MIB + DISTANCE},
	{"not below a stack",
	 {{LIBC - 3 * GIB, LIBC + MIB, AREA_OTHER},
	  {LIBC + GIB, LIBC + GIB + MIB, AREA_STACK},
	  {LIBC + GIB + MIB, LIBC + 3 * GIB, AREA_OTHER}},
	 LIBC,
	 LIBC + MIB,
	 0x1000,
	 0},
	{"far below a stack",
	 {{LIBC - 3 * GIB, LIBC + MIB, AREA_OTHER},
	  {LIBC + 20 * GIB, LIBC + 20 * GIB + MIB, AREA_STACK}},
	 LIBC,
	 LIBC + MIB,
	 0x1000,
	 LIBC + MIB + DISTANCE},
	{"above a stack",
	 {{LIBC - 3 * GIB, LIBC + MIB, AREA_OTHER}, {LIBC + GIB, LIBC + GIB + MIB, AREA_STACK}},
	 LIBC,
	 LIBC + MIB,
	 0x1000,
	 LIBC + GIB + MIB + DISTANCE},
	{"far below anonymous memory",
	 {{LIBC - MIB, LIBC, AREA_MEMORY}, {LIBC, LIBC + 3 * GIB, AREA_OTHER}},
	 LIBC,
	 LIBC + MIB,
	 0x1000,
	 LIBC - MIB - 64 * MIB - 0x1000},
	{"below a program at a low address",
	 {{0x400000, 0x500000, AREA_OTHER}, {0x600000, 0x700000, AREA_HEAP}},
	 0x400000,
	 0x500000,
	 MIB,
	 0x400000 - DISTANCE - MIB},
	{"above the heap: no room below",
	 {{0x400000, 0x500000, AREA_OTHER}, {0x600000, 0x700000, AREA_HEAP}},
	 0x400000,
	 0x500000,
	 16 * MIB,
	 0x700000 + GIB},
	{"nearer to the heap: no room elsewhere",
	 {{0x400000, 0x500000, AREA_OTHER},
	  {0x600000, 0x700000, AREA_HEAP},
	  {0x700000 + 700 * MIB, 5 * GIB, AREA_OTHER}},
	 0x400000,
	 0x500000,
	 16 * MIB,
	 0x700000 + 512 * MIB},
	{"too near to the heap",
	 {{0x400000, 0x500000, AREA_OTHER},
	  {0x600000, 0x700000, AREA_HEAP},
	  {0x700000 + 70 * MIB, 5 * GIB, AREA_OTHER}},
	 0x400000,
	 0x500000,
	 16 * MIB,
	 0},
	{"the last address in reach",
	 {{LIBC - 3 * GIB, LIBC + REACH - 0x2000 - DISTANCE, AREA_OTHER}},
	 LIBC,
	 LIBC + MIB,
	 0x2000,
	 LIBC + REACH - 0x2000},
	{"out of reach above",
	 {{LIBC - 3 * GIB, LIBC + REACH - 0x1000 - DISTANCE, AREA_OTHER}},
	 LIBC,
	 LIBC + MIB,
	 0x2000,
	 0},
	{"the first address in reach",
	 {{LIBC + MIB - REACH + 0x2000 + DISTANCE, LIBC + 3 * GIB, AREA_OTHER}},
	 LIBC,
	 LIBC + MIB,
	 0x2000,
	 LIBC + MIB - REACH},
	{"out of reach below",
	 {{LIBC + MIB - REACH + 0x1000 + DISTANCE, LIBC + 3 * GIB, AREA_OTHER}},
	 LIBC,
	 LIBC + MIB,
	 0x2000,
	 0},
	{"functions that are too far apart",
	 {{LIBC, LIBC + REACH, AREA_OTHER}},
	 LIBC,
	 LIBC + REACH,
	 0x1000,
	 0},
	{"functions that are just near enough",
	 {{LIBC, LIBC + REACH - 0x11000, AREA_OTHER}},
	 LIBC,
	 LIBC + REACH - 0x11000,
	 0x1000,
	 LIBC - 0x11000},
	{"between two modules",
	 {{LIBC, LIBC + MIB, AREA_OTHER}, {LIBC + 8 * MIB, LIBC + 9 * MIB, AREA_OTHER}},
	 LIBC,
	 LIBC + 9 * MIB,
	 MIB,
	 LIBC + MIB + DISTANCE},
	{"not below the lowest address",
	 {{0x11000, 0x12000, AREA_OTHER}},
	 0x11000,
	 0x12000,
	 0x1000,
	 0x12000 + DISTANCE},
	{"not above the highest address",
	 {{HIGHEST - 3 * GIB, TOP - DISTANCE, AREA_OTHER}},
	 HIGHEST,
	 HIGHEST + MIB,
	 0x1000,
	 0},
	{"the vsyscall page",
	 {{HIGHEST - 3 * GIB, TOP - DISTANCE, AREA_OTHER},
	  {0xffffffffff600000, 0xffffffffff601000, AREA_OTHER}},
	 HIGHEST,
	 HIGHEST + MIB,
	 0x1000,
	 0},
	{"no size", {{0, 0, 0}}, LIBC, LIBC + MIB, 0, 0},
	{"a size that overflows", {{0, 0, 0}}, LIBC, LIBC + MIB, UINT64_MAX - 1, 0},
};

static void test_search(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		const struct area_request request = {row->low, row->high, row->size, DISTANCE, TOP};
		uint64_t address = 0;
		size_t count = 0;
		int code;

		while (count < RANGES && row->ranges[count].end)
			count++;
		code = gate_area_search(row->ranges, count, &request, &address);
		if (code != (row->expected ? 0 : -ENOSPC) || address != row->expected)
			fail_msg("%s: %d, 0x%llx", row->name, code, (unsigned long long)address);
	}
}

/* The area is free, in reach, and not next to anything. */
static void expect_room_near(uint64_t code)
{
	const uint64_t size = 5 * GATE_PAGE;
	uint64_t address;
	char *at;

	assert_int_equal(gate_area_find(getpid(), code, code + 64, size, &address), 0);
	assert_int_equal(address % GATE_PAGE, 0);
	assert_true(address + size - code < REACH || code + 64 - address < REACH);
	at = mmap((char *)(uintptr_t)address - GATE_PAGE, size + 2 * GATE_PAGE, PROT_NONE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_equal(at, (char *)(uintptr_t)address - GATE_PAGE);
	munmap(at, size + 2 * GATE_PAGE);
}

static void test_own_process(void **state)
{
	(void)state;
	expect_room_near((uint64_t)(uintptr_t)expect_room_near);
	expect_room_near((uint64_t)(uintptr_t)memmem);
}

static void test_exited_process(void **state)
{
	uint64_t address;

	(void)state;
	assert_int_equal(gate_area_find(0x7ffffffe, LIBC, LIBC + MIB, GATE_PAGE, &address), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_own_process),
		cmocka_unit_test(test_exited_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
