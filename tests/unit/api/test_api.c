/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The allocator table is consistent with itself, with the cookie's layout and with the C ABI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "api/api.h"

static void test_symbols_lead_back_to_their_row(void **state)
{
	(void)state;
	for (int api = 1; api < API_COUNT; api++) {
		const struct api_row *row = api_row((enum api)api);

		for (int i = 0; i < API_SYMBOLS_MAX && row->symbols[i]; i++)
			assert_int_equal(api_of_symbol(row->symbols[i]), api);
		/* A full list would have no final NULL, which readers of the row rely on. */
		assert_null(row->symbols[API_SYMBOLS_MAX - 1]);
	}
}

static void test_other_symbols_are_no_api(void **state)
{
	static const char *const others[] = {
		"",
		"mallo",
		"malloc2",
		"Malloc",
		"malloc@GLIBC_2.2.5",
		"__libc_free",
		"operator new",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(api_of_symbol(others[i]), API_NONE);
}

static void test_names_are_unique(void **state)
{
	(void)state;
	for (int a = 0; a < API_COUNT; a++) {
		assert_non_null(api_name((enum api)a));
		assert_true(*api_name((enum api)a));
		for (int b = 0; b < a; b++)
			assert_string_not_equal(api_name((enum api)a), api_name((enum api)b));
	}
}

static void test_unknown_numbers_give_the_unknown_row(void **state)
{
	(void)state;
	assert_ptr_equal(api_row((enum api)API_COUNT), api_row(API_NONE));
	assert_ptr_equal(api_row((enum api)255), api_row(API_NONE));
	assert_ptr_equal(api_row((enum api) - 1), api_row(API_NONE));
}

static void test_rows_make_sense(void **state)
{
	(void)state;
	for (int number = 1; number < API_COUNT; number++) {
		enum api api = (enum api)number;
		const struct api_row *row = api_row(api);

		assert_int_equal(row->family == FAMILY_MAP, !strcmp(row->group, "mmap"));
		/* Every allocating function has a size argument, and every freeing one an
		 * address. */
		assert_true(!api_allocates(api) || row->size >= 0);
		assert_true(api_allocates(api) || row->old >= 0);
		/* A free is an entry-only probe, so it needs no return. */
		assert_int_equal(api_needs_return(api), !(row->flags & COOKIE_FLAG_FREE));
		if (row->flags & COOKIE_FLAG_FREE)
			assert_false(row->flags & (COOKIE_FLAG_BEGIN | COOKIE_FLAG_UNMAP));
		if (row->count >= 0)
			assert_int_not_equal(row->count, row->size);
	}
}

static uint64_t argument(int8_t position)
{
	return position < 0 ? COOKIE_NO_ARG : (uint64_t)position;
}

static void test_cookie_fields(void **state)
{
	(void)state;
	for (int api = 1; api < API_COUNT; api++) {
		const struct api_row *row = api_row((enum api)api);
		uint64_t cookie = api_cookie((enum api)api);

		assert_int_equal(COOKIE_API(cookie), api);
		assert_int_equal(COOKIE_SIZE(cookie), argument(row->size));
		assert_int_equal(COOKIE_COUNT(cookie), argument(row->count));
		assert_int_equal(COOKIE_OLD(cookie), argument(row->old));
		assert_int_equal(COOKIE_OUT(cookie), argument(row->out));
		assert_int_equal(COOKIE_FLAGS(cookie), row->flags);
	}
}

static void test_plain_free(void **state)
{
	(void)state;
	assert_true(api_cookie(API_FREE) == COOKIE_PLAIN_FREE);
}

/* Written down from the prototypes, so that the table is not merely compared with itself. */
static void test_argument_positions(void **state)
{
	static const struct {
		enum api api;
		int8_t size, count, old, out;
	} truth[] = {
		{API_MALLOC, 0, -1, -1, -1},        /* (size) */
		{API_CALLOC, 1, 0, -1, -1},         /* (count, size) */
		{API_REALLOC, 1, -1, 0, -1},        /* (old, size) */
		{API_REALLOCARRAY, 2, 1, 0, -1},    /* (old, count, size) */
		{API_FREE, -1, -1, 0, -1},          /* (old) */
		{API_POSIX_MEMALIGN, 2, -1, -1, 0}, /* (out, alignment, size) */
		{API_ALIGNED_ALLOC, 1, -1, -1, -1}, /* (alignment, size) */
		{API_NEW, 0, -1, -1, -1},           /* (size, …) */
		{API_DELETE, -1, -1, 0, -1},        /* (old, …) */
		{API_MMAP, 1, -1, -1, -1},          /* (hint, length, …) */
		{API_MUNMAP, 1, -1, 0, -1},         /* (address, length) */
		{API_MREMAP, 2, -1, 0, -1},         /* (address, old length, new length, …) */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++) {
		const struct api_row *row = api_row(truth[i].api);

		assert_int_equal(row->size, truth[i].size);
		assert_int_equal(row->count, truth[i].count);
		assert_int_equal(row->old, truth[i].old);
		assert_int_equal(row->out, truth[i].out);
	}
}

/* TRAPS.md, 1: a return probe aborts the program if an exception passes through the function. */
static void test_throwing_functions_are_marked(void **state)
{
	(void)state;
	for (int api = 0; api < API_COUNT; api++)
		assert_int_equal(api_row((enum api)api)->throws,
				 api == API_NEW || api == API_NEW_ARRAY);
}

static uint32_t parse_set(const char *text)
{
	const char *bad = NULL;
	uint32_t set = 0;

	assert_int_equal(api_set_parse(text, &set, &bad), 0);
	assert_null(bad);
	return set;
}

static void test_set_parse(void **state)
{
	(void)state;
	assert_int_equal(parse_set("free"), 1u << API_FREE);
	assert_int_equal(parse_set("operator new[]"), 1u << API_NEW_ARRAY);
	assert_int_equal(parse_set("new"), 1u << API_NEW | 1u << API_NEW_ARRAY | 1u << API_DELETE |
						   1u << API_DELETE_ARRAY);
	assert_int_equal(parse_set("calloc,calloc,munmap"), 1u << API_CALLOC | 1u << API_MUNMAP);
	/* All groups together are all APIs; the rest of the mask is the unknown row. */
	assert_int_equal(parse_set("malloc,new,mmap"), API_SET_ALL & ~(1u << API_NONE));
	/* A name that is both a group and a function means the group. */
	assert_true(parse_set("malloc") & 1u << API_FREE);
	assert_true(parse_set("mmap") & 1u << API_MREMAP);
}

static void test_set_parse_points_at_the_bad_word(void **state)
{
	static const struct {
		const char *text;
		size_t at;
	} cases[] = {
		{"", 0},
		{"nonsense", 0},
		{"malloc,nonsense,new", 7},
		{"malloc,", 7},
		{",malloc", 0},
		{"malloc,,new", 7},
		{"malloc, new", 7},
		{"mallo", 0},
		{"mallocs", 0},
		{"unknown,malloc", 0},
		{"MALLOC", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *bad = NULL;
		uint32_t set = 0xabcd;

		assert_int_equal(api_set_parse(cases[i].text, &set, &bad), -EINVAL);
		assert_ptr_equal(bad, cases[i].text + cases[i].at);
		assert_int_equal(set, 0xabcd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols_lead_back_to_their_row),
		cmocka_unit_test(test_other_symbols_are_no_api),
		cmocka_unit_test(test_names_are_unique),
		cmocka_unit_test(test_unknown_numbers_give_the_unknown_row),
		cmocka_unit_test(test_rows_make_sense),
		cmocka_unit_test(test_cookie_fields),
		cmocka_unit_test(test_plain_free),
		cmocka_unit_test(test_argument_positions),
		cmocka_unit_test(test_throwing_functions_are_marked),
		cmocka_unit_test(test_set_parse),
		cmocka_unit_test(test_set_parse_points_at_the_bad_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
