/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/map64.h"
#include "base/units.h"
#include "base/vec.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Our own generator (xorshift64*), so that a failure is reproducible with the same seed. */
static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 0x2545f4914f6cdd1dULL;
}

static void test_vec_keeps_what_was_pushed(void **state)
{
	VEC(uint64_t) vec = {0};
	uint64_t *item;
	uint64_t expected = 0;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(vec_push(&vec, i * i), 0);
	assert_int_equal(vec.count, 10000);
	vec_each (item, &vec) {
		assert_int_equal(*item, expected * expected);
		expected++;
	}
	assert_int_equal(expected, 10000);
	vec_free(&vec);
	assert_null(vec.items);
	assert_int_equal(vec.count, 0);
}

static void test_vec_takes_structs(void **state)
{
	struct pair {
		int a, b;
	};
	VEC(struct pair) vec = {0};

	(void)state;
	assert_int_equal(vec_push(&vec, (struct pair){1, 2}), 0);
	assert_int_equal(vec_push(&vec, (struct pair){.b = 3}), 0);
	assert_int_equal(vec.items[0].b, 2);
	assert_int_equal(vec.items[1].a, 0);
	assert_int_equal(vec.items[1].b, 3);
	vec_free(&vec);
}

static void test_vec_refuses_the_impossible(void **state)
{
	VEC(uint64_t) vec = {0};

	(void)state;
	assert_int_equal(vec_push(&vec, 7), 0);
	assert_int_equal(vec_reserve(&vec, SIZE_MAX / 4), -ENOMEM);
	assert_int_equal(vec.count, 1);
	assert_int_equal(vec.items[0], 7);
	vec_free(&vec);
}

static void test_map64_empty(void **state)
{
	struct map64 map = {0};

	(void)state;
	assert_int_equal(map64_get(&map, 0), MAP64_NONE);
	map64_delete(&map, 0);
	assert_int_equal(map.count, 0);
	map64_free(&map);
}

static void test_map64_extreme_keys(void **state)
{
	static const uint64_t keys[] = {0, 1, UINT32_MAX, 1ULL << 32, 1ULL << 63, UINT64_MAX};
	struct map64 map = {0};

	(void)state;
	for (uint32_t i = 0; i < COUNT(keys); i++)
		assert_int_equal(map64_set(&map, keys[i], MAP64_NONE - 1 - i), 0);
	assert_int_equal(map.count, COUNT(keys));
	for (uint32_t i = 0; i < COUNT(keys); i++)
		assert_int_equal(map64_get(&map, keys[i]), MAP64_NONE - 1 - i);
	map64_free(&map);
}

/* One value per key, by index: the simplest possible map. */
#define ORACLE_KEYS 512

/* Half of the keys are neighbours, half are spread over all 64 bits. */
static uint64_t oracle_key(unsigned int index)
{
	return index % 2 ? index : (uint64_t)index << 55 | index;
}

static void map64_compare(const struct map64 *map, const uint32_t *oracle)
{
	size_t count = 0;

	for (unsigned int i = 0; i < ORACLE_KEYS; i++) {
		assert_int_equal(map64_get(map, oracle_key(i)), oracle[i]);
		count += oracle[i] != MAP64_NONE;
	}
	assert_int_equal(map->count, count);
}

/* `deletions` of 8 operations delete: maps that grow, stay the same size and shrink. */
static void map64_against_oracle(uint64_t seed, unsigned int deletions)
{
	uint32_t oracle[ORACLE_KEYS];
	struct map64 map = {0};

	memset(oracle, 0xff, sizeof(oracle));
	for (unsigned int round = 0; round < 20000; round++) {
		uint64_t random = random_next(&seed);
		unsigned int index = (unsigned int)(random % ORACLE_KEYS);

		if ((random >> 32) % 8 < deletions) {
			map64_delete(&map, oracle_key(index));
			oracle[index] = MAP64_NONE;
		} else {
			assert_int_equal(map64_set(&map, oracle_key(index), round), 0);
			oracle[index] = round;
		}
		if (round % 100 == 0)
			map64_compare(&map, oracle);
	}
	map64_compare(&map, oracle);
	map64_free(&map);
}

static void test_map64_random_operations(void **state)
{
	(void)state;
	for (unsigned int deletions = 1; deletions < 8; deletions++)
		map64_against_oracle(0x9e3779b97f4a7c15ULL + deletions, deletions);
}

static void test_map64_delete_all(void **state)
{
	struct map64 map = {0};

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(map64_set(&map, i, i), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		map64_delete(&map, i);
		map64_delete(&map, i);
		assert_int_equal(map64_get(&map, i), MAP64_NONE);
		assert_int_equal(map.count, 999 - i);
		if (i < 999)
			assert_int_equal(map64_get(&map, 999), 999);
	}
	map64_free(&map);
}

struct parse_case {
	const char *text;
	int err;
	uint64_t value;
};

static void check_parse(int (*parse)(const char *, uint64_t *), const struct parse_case *cases,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 0xdead;
		int err = parse(cases[i].text, &value);

		if (err != cases[i].err || (!err && value != cases[i].value))
			fail_msg("\"%s\": %d, %llu", cases[i].text, err, (unsigned long long)value);
	}
}

static void test_bytes_parse(void **state)
{
	static const struct parse_case cases[] = {
		{"0", 0, 0},
		{"4096", 0, 4096},
		{"17b", 0, 17},
		{"64k", 0, 65536},
		{"1M", 0, 1 << 20},
		{"2g", 0, 2ULL << 30},
		{"3T", 0, 3ULL << 40},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"16777215t", 0, 16777215ULL << 40},
		{"16777216t", -ERANGE, 0},
		{"18014398509481984k", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"k", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1kk", -EINVAL, 0},
		{"1.5k", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1q", -EINVAL, 0},
		{"\xff", -EINVAL, 0},
	};

	(void)state;
	check_parse(bytes_parse, cases, COUNT(cases));
}

static void test_duration_parse(void **state)
{
	static const struct parse_case cases[] = {
		{"0s", 0, 0},
		{"7ns", 0, 7},
		{"7us", 0, 7000},
		{"500ms", 0, 500000000},
		{"10s", 0, 10000000000ULL},
		{"5m", 0, 300000000000ULL},
		{"1h", 0, 3600000000000ULL},
		{"5124095h", 0, 5124095 * 3600000000000ULL},
		{"5124096h", -ERANGE, 0},
		{"10", -EINVAL, 0}, /* of what unit? */
		{"s", -EINVAL, 0},
		{"-5s", -EINVAL, 0},
		{"5 s", -EINVAL, 0},
		{"5sec", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	(void)state;
	check_parse(duration_parse, cases, COUNT(cases));
}

static int number_parse_max_100(const char *text, uint64_t *ret)
{
	return number_parse(text, 100, ret);
}

static void test_number_parse(void **state)
{
	static const struct parse_case cases[] = {
		{"0", 0, 0},         {"100", 0, 100},    {"007", 0, 7},
		{"101", -ERANGE, 0}, {"1k", -EINVAL, 0}, {"99999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},    {"-0", -EINVAL, 0}, {"1,000", -EINVAL, 0},
	};

	(void)state;
	check_parse(number_parse_max_100, cases, COUNT(cases));
}

struct format_case {
	uint64_t number;
	const char *text;
};

static void check_format(const char *(*format)(uint64_t, char *), const struct format_case *cases,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char text[UNITS_TEXT_SIZE];

		assert_ptr_equal(format(cases[i].number, text), text);
		assert_string_equal(text, cases[i].text);
	}
}

static void test_bytes_format(void **state)
{
	static const struct format_case cases[] = {
		{0, "0 B"},
		{17, "17 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{5872026, "5.6 MiB"},
		{1048575, "1.0 MiB"}, /* not "1024.0 KiB" */
		{1ULL << 40, "1.0 TiB"},
		{UINT64_MAX, "16.0 EiB"},
	};

	(void)state;
	check_format(bytes_format, cases, COUNT(cases));
}

static void test_count_format(void **state)
{
	static const struct format_case cases[] = {
		{0, "0"},
		{999, "999"},
		{1000, "1,000"},
		{1234567, "1,234,567"},
		{UINT64_MAX, "18,446,744,073,709,551,615"},
	};

	(void)state;
	check_format(count_format, cases, COUNT(cases));
}

static void test_duration_format(void **state)
{
	static const struct format_case cases[] = {
		{0, "0 µs"},
		{999999, "999 µs"},
		{350000000, "350 ms"},
		{999999999, "999 ms"},
		{12400000000ULL, "12.4 s"},
		{59999999999ULL, "59.9 s"},
		{61000000000ULL, "1m 1s"},
		{7500000000000ULL, "2h 5m"},
		{UINT64_MAX, "5124095h 34m"},
	};

	(void)state;
	check_format(duration_format, cases, COUNT(cases));
}

static void test_error_text(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(error_set(&err, -EINVAL, "row %d of %s", 3, "table"), -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	assert_string_equal(err.text, "row 3 of table");
	assert_int_equal(error_set_errno(&err, -ENOENT, "cannot open %s", "x"), -ENOENT);
	assert_int_equal(err.code, -ENOENT);
	assert_string_equal(err.text, "cannot open x: No such file or directory");
}

static void test_error_without_output(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, -EPERM, "nobody reads %s", "this"), -EPERM);
	assert_int_equal(error_set_errno(NULL, -EPERM, "nor this"), -EPERM);
}

static void test_error_too_long(void **state)
{
	char words[2 * ERROR_TEXT_SIZE];
	struct error err;

	(void)state;
	memset(words, 'w', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	assert_int_equal(error_set_errno(&err, -ENOENT, "%s", words), -ENOENT);
	assert_int_equal(strlen(err.text), ERROR_TEXT_SIZE - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vec_keeps_what_was_pushed),
		cmocka_unit_test(test_vec_takes_structs),
		cmocka_unit_test(test_vec_refuses_the_impossible),
		cmocka_unit_test(test_map64_empty),
		cmocka_unit_test(test_map64_extreme_keys),
		cmocka_unit_test(test_map64_random_operations),
		cmocka_unit_test(test_map64_delete_all),
		cmocka_unit_test(test_bytes_parse),
		cmocka_unit_test(test_duration_parse),
		cmocka_unit_test(test_number_parse),
		cmocka_unit_test(test_bytes_format),
		cmocka_unit_test(test_count_format),
		cmocka_unit_test(test_duration_format),
		cmocka_unit_test(test_error_text),
		cmocka_unit_test(test_error_without_output),
		cmocka_unit_test(test_error_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
