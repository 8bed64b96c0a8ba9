// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The arrays that the BPF programs search: for every offset in real files, the search by page and
 * rows must find the same as cfi_table_find(). Also what happens when an array is full.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/unwind/layout.h"

#define ROWS         (1u << 20)
#define PAGES        (1u << 15)
#define SEARCH_STEPS 11 /* as bpf/unwind.bpf.h has it */

/* Two arrays, with guards after the usable part. */

#define GUARD 64

struct arrays {
	struct unwind_row *rows;
	struct unwind_page *pages;
	uint32_t row_capacity, page_capacity;
	struct unwind_layout layout;
};

static void arrays_open(struct arrays *arrays, uint32_t rows, uint32_t pages)
{
	*arrays = (struct arrays){.row_capacity = rows, .page_capacity = pages};
	arrays->rows = malloc(rows * sizeof(*arrays->rows) + GUARD);
	arrays->pages = malloc(pages * sizeof(*arrays->pages) + GUARD);
	assert_non_null(arrays->rows);
	assert_non_null(arrays->pages);
	memset(arrays->rows, 0xa5, rows * sizeof(*arrays->rows) + GUARD);
	memset(arrays->pages, 0xa5, pages * sizeof(*arrays->pages) + GUARD);
	unwind_layout_init(&arrays->layout, arrays->rows, rows, arrays->pages, pages);
}

static void check_guard(const void *end)
{
	for (int i = 0; i < GUARD; i++)
		assert_int_equal(((const uint8_t *)end)[i], 0xa5);
}

static void arrays_close(struct arrays *arrays)
{
	check_guard(arrays->rows + arrays->row_capacity);
	check_guard(arrays->pages + arrays->page_capacity);
	unwind_layout_free(&arrays->layout);
	free(arrays->rows);
	free(arrays->pages);
}

static struct unwind_file add(struct arrays *arrays, uint32_t module, const struct cfi_table *table)
{
	struct unwind_file file, found;

	assert_false(unwind_layout_find(&arrays->layout, module, &file));
	assert_int_equal(unwind_layout_add(&arrays->layout, module, table, &file), 0);
	assert_true(unwind_layout_find(&arrays->layout, module, &found));
	assert_memory_equal(&file, &found, sizeof(file));
	return file;
}

/* The search, as in row_of() and row_search() of bpf/unwind.bpf.h. */

static const struct unwind_row gap = {.kinds = UNWIND_CFA_GAP};

static const struct unwind_row *row_search(const struct arrays *arrays, uint32_t page,
					   uint32_t offset)
{
	uint32_t low = arrays->pages[page].first, high = arrays->pages[page].last;

	for (int i = 0; i < SEARCH_STEPS && low < high; i++) {
		uint32_t middle = high - (high - low) / 2;

		if (arrays->rows[middle].offset <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	return arrays->rows[low].offset <= offset ? &arrays->rows[low] : &gap;
}

static const struct unwind_row *row_of(const struct arrays *arrays, const struct unwind_file *file,
				       uint64_t offset)
{
	uint64_t page = (offset >> UNWIND_PAGE_SHIFT) - file->first_page;

	if (!file->pages || page >= file->page_count)
		return &gap;
	return row_search(arrays, (uint32_t)(file->pages + page), (uint32_t)offset);
}

static bool is_same(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->kinds == b->kinds && a->cfa_offset == b->cfa_offset &&
	       a->bp_offset == b->bp_offset;
}

static void compare_at(const struct arrays *arrays, const struct unwind_file *file,
		       const struct cfi_table *table, uint64_t offset)
{
	if (!is_same(row_of(arrays, file, offset), cfi_table_find(table, offset)))
		fail_msg("another row at 0x%llx", (unsigned long long)offset);
}

static void compare_range(const struct arrays *arrays, const struct unwind_file *file,
			  const struct cfi_table *table, uint64_t start, uint64_t end)
{
	for (uint64_t offset = start; offset < end; offset++)
		compare_at(arrays, file, table, offset);
}

/* Compares at every offset of the file's code, and some before and after it. */
static void compare(const struct arrays *arrays, const struct unwind_file *file,
		    const struct cfi_table *table)
{
	uint64_t first = table->rows.items[0].offset;
	uint64_t last = table->rows.items[table->rows.count - 1].offset;
	uint64_t margin = 3 * UNWIND_PAGE_SIZE;

	compare_range(arrays, file, table, first > margin ? first - margin : 0, last + margin);
	compare_at(arrays, file, table, 0);
	compare_at(arrays, file, table, UINT32_MAX);
	compare_at(arrays, file, table, (1ULL << 32) + first);
	compare_at(arrays, file, table, UINT64_MAX);
}

/* Hand-made tables. */

static void push(struct cfi_table *table, uint32_t offset, enum unwind_cfa kind)
{
	struct unwind_row row = {.offset = offset, .kinds = (uint8_t)kind};

	row.cfa_offset = kind == UNWIND_CFA_GAP ? 0 : (short)(table->rows.count % 1000 + 1);
	assert_int_equal(vec_push(&table->rows, row), 0);
}

/* Rows `step` bytes apart, and a gap at the end. */
static void make_table(struct cfi_table *table, uint32_t start, uint32_t step, uint32_t count)
{
	*table = (struct cfi_table){0};
	for (uint32_t i = 0; i < count; i++)
		push(table, start + i * step, UNWIND_CFA_SP);
	push(table, start + count * step, UNWIND_CFA_GAP);
}

/*
 * Tests.
 */

static void build(const char *pattern, bool full, struct cfi_table *ret_table)
{
	glob_t found = {0};
	int fd;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(cfi_table_build(fd, full, ret_table, NULL), 0);
	assert_true(ret_table->rows.count > 10);
	close(fd);
	globfree(&found);
}

/* Pruned and full tables of several files, one after the other. */
static void test_real_files(void **state)
{
	static const char *const patterns[] = {
		"/lib/*-linux-gnu*/libc.so.6",
		"/usr/lib/*-linux-gnu*/libstdc++.so.6",
		"/proc/self/exe",
	};
	struct cfi_table tables[6];
	struct unwind_file files[6];
	struct arrays arrays;

	(void)state;
	arrays_open(&arrays, ROWS, PAGES);
	for (uint32_t i = 0; i < 6; i++) {
		build(patterns[i / 2], i % 2, &tables[i]);
		files[i] = add(&arrays, i, &tables[i]);
		assert_int_not_equal(files[i].pages, 0);
	}
	for (uint32_t i = 0; i < 6; i++) {
		compare(&arrays, &files[i], &tables[i]);
		cfi_table_free(&tables[i]);
	}
	arrays_close(&arrays);
}

static void test_crowded_and_empty_pages(void **state)
{
	static const struct {
		uint32_t start, step, count;
	} cases[] = {
		{0, 1, 3000},                    /* a row for each byte */
		{UNWIND_PAGE_SIZE, 1, 1024},     /* fill a page exactly */
		{UNWIND_PAGE_SIZE - 1, 1, 1026}, /* and the edges of its neighbours */
		{100, UNWIND_PAGE_SIZE, 10},     /* one in each page */
		{UNWIND_PAGE_SIZE, 1024, 3},     /* at its first byte */
		{UNWIND_PAGE_SIZE - 1, 1024, 3}, /* at its last byte */
		{5000, 100000, 5},               /* pages in which no row starts */
		{UINT32_MAX - 5000, 1, 5000},    /* the last possible page */
		{77, 1, 1},
		{0, 1, 0},
	};
	struct arrays arrays;

	(void)state;
	arrays_open(&arrays, ROWS, PAGES);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cfi_table table;
		struct unwind_file file;

		make_table(&table, cases[i].start, cases[i].step, cases[i].count);
		file = add(&arrays, i, &table);
		assert_int_not_equal(file.pages, 0);
		compare(&arrays, &file, &table);
		cfi_table_free(&table);
	}
	arrays_close(&arrays);
}

/* A file that does not fit changes nothing, and leaves room for one that does. */
static void check_full(uint32_t rows, uint32_t pages)
{
	struct cfi_table first, large, small;
	struct unwind_file file;
	struct arrays arrays;

	make_table(&first, 100, 10, 49);            /* 50 rows, 1 page */
	make_table(&large, 0, UNWIND_PAGE_SIZE, 9); /* 10 rows, 10 pages */
	make_table(&small, 0, UNWIND_PAGE_SIZE, 8); /* 9 rows, 9 pages */
	arrays_open(&arrays, rows, pages);
	file = add(&arrays, 0, &first);
	assert_int_equal(file.pages, 1);
	assert_int_equal(add(&arrays, 1, &large).pages, 0);
	assert_int_equal(arrays.layout.row_count, 50);
	assert_int_equal(arrays.layout.page_count, 2);
	compare(&arrays, &file, &first);
	assert_int_equal(add(&arrays, 2, &small).pages, 2);
	assert_int_equal(add(&arrays, 3, &small).pages, 0);
	compare(&arrays, &file, &first);
	arrays_close(&arrays);
	cfi_table_free(&first);
	cfi_table_free(&large);
	cfi_table_free(&small);
}

static void test_no_room(void **state)
{
	struct unwind_file file;
	struct cfi_table table;
	struct arrays arrays;

	(void)state;
	check_full(59, PAGES);
	check_full(ROWS, 11);
	make_table(&table, 0, 1, 1);
	for (uint32_t capacity = 0; capacity < 2; capacity++) { /* page 0 is reserved */
		arrays_open(&arrays, ROWS, capacity);
		file = add(&arrays, 0, &table);
		assert_int_equal(file.pages, 0);
		arrays_close(&arrays);
	}
	cfi_table_free(&table);
}

/* A file with two names is one module. When it is found again, its table is not added again. */
static void test_known_module(void **state)
{
	struct unwind_file file, again;
	struct cfi_table table;
	struct arrays arrays;

	(void)state;
	make_table(&table, 0, 1, 100);
	arrays_open(&arrays, ROWS, PAGES);
	file = add(&arrays, 7, &table);
	add(&arrays, 8, &table);
	assert_int_equal(arrays.layout.row_count, 2 * 101);
	assert_true(unwind_layout_find(&arrays.layout, 7, &again));
	assert_memory_equal(&file, &again, sizeof(file));
	assert_int_equal(arrays.layout.row_count, 2 * 101);
	arrays_close(&arrays);
	cfi_table_free(&table);
}

static void test_module_without_cfi(void **state)
{
	struct cfi_table none = {0}, table;
	struct unwind_file file;
	struct arrays arrays;

	(void)state;
	arrays_open(&arrays, ROWS, PAGES);
	make_table(&table, 0, 1, 0); /* only a gap */
	file = add(&arrays, 0, &none);
	assert_int_equal(file.pages, 0);
	assert_int_equal(arrays.layout.row_count, 0);
	assert_int_equal(arrays.layout.page_count, 1);
	assert_true(is_same(row_of(&arrays, &file, 0), &gap));
	file = add(&arrays, 1, &table);
	assert_int_equal(file.pages, 1);
	compare(&arrays, &file, &table);
	cfi_table_free(&table);
	arrays_close(&arrays);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_files),
		cmocka_unit_test(test_crowded_and_empty_pages),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_known_module),
		cmocka_unit_test(test_module_without_cfi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
