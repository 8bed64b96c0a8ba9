/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of glibc's MALLOC_TRACE in the format of all versions, and invalid lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/stream/malloc_log.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *text;
	enum malloc_log_kind kind;
	const char *object;
	uint64_t caller, address, size;
} lines[] = {
	{"= Start", MALLOC_LOG_START, NULL, 0, 0, 0},
	{"= End", MALLOC_LOG_END, NULL, 0, 0, 0},
	{"@ ./prog:[0x123b] + 0x5586f93ee4a0 0x64", MALLOC_LOG_ALLOC, "./prog", 0x123b,
	 0x5586f93ee4a0, 0x64},
	{"@ ./prog:[0x12ae] < 0x5586f93ee2a0", MALLOC_LOG_OLD, "./prog", 0x12ae, 0x5586f93ee2a0, 0},
	{"@ ./prog:[0x12ae] > 0x5586f93ee530 0x7d0", MALLOC_LOG_NEW, "./prog", 0x12ae,
	 0x5586f93ee530, 0x7d0},
	{"@ ./prog:[0x12df] - 0x5586f93eed10", MALLOC_LOG_FREE, "./prog", 0x12df, 0x5586f93eed10,
	 0},
	{"@ ./prog:[0x120a] ! 0x55e645bc22a0 0x7fffffffffffffff", MALLOC_LOG_FAILED, "./prog",
	 0x120a, 0x55e645bc22a0, 0x7fffffffffffffff},
	{"@ ./prog:[0x1390] + (nil) 0x7fffffffffffffff", MALLOC_LOG_ALLOC, "./prog", 0x1390, 0,
	 0x7fffffffffffffff},
	{"@ /lib/libc.so.6:(__strdup+1a)[0x9e9aa] + 0x10 0xc", MALLOC_LOG_ALLOC, "/lib/libc.so.6",
	 0x9e9aa, 0x10, 0xc},
	{"@ (_end-1a)[0x9] + 0x10 0", MALLOC_LOG_ALLOC, NULL, 9, 0x10, 0},
	{"@ [0x7f0012345678] - 0x10", MALLOC_LOG_FREE, NULL, 0x7f0012345678, 0x10, 0},
	{"+ 0x10 0xc", MALLOC_LOG_ALLOC, NULL, 0, 0x10, 0xc},
	{"@ /a b/[x]:(y)/p:(_Z1fi+1c)[0x1] - 0xABCDEF", MALLOC_LOG_FREE, "/a b/[x]:(y)/p", 1,
	 0xabcdef, 0},
	{"@ p:[0xffffffffffffffff] - 0xffffffffffffffff", MALLOC_LOG_FREE, "p", ~0ULL, ~0ULL, 0},
};

static void test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		struct malloc_log_line line;

		if (malloc_log_parse(lines[i].text, strlen(lines[i].text), &line))
			fail_msg("no line: %s", lines[i].text);
		assert_int_equal(line.kind, lines[i].kind);
		assert_int_equal(line.caller, lines[i].caller);
		assert_int_equal(line.address, lines[i].address);
		assert_int_equal(line.size, lines[i].size);
		assert_int_equal(!!line.object, !!lines[i].object);
		if (!line.object)
			continue;
		assert_int_equal(line.object_length, strlen(lines[i].object));
		assert_memory_equal(line.object, lines[i].object, line.object_length);
	}
}

static void test_invalid_lines(void **state)
{
	static const char *const others[] = {
		"",
		"=",
		"= Start ",
		"= Stop",
		"@ ",
		"@ ./prog:[0x123b]",
		"@ ./prog:[0x123b] ",
		"@ ./prog:[0x123b] +",
		"@ ./prog:[0x123b] + 0x10",
		"@ ./prog:[0x123b] + 0x10 ",
		"@ ./prog:[0x123b] + 0x10 0x",
		"@ ./prog:[0x123b] + 0x10 0x1 ",
		"@ ./prog:[0x123b] + 0x11111111111111111 0x1",
		"@ ./prog:[0x123b] * 0x10 0x1",
		"@ ./prog:[123b] + 0x10 0x1",
		"@ ./prog:[0x123b + 0x10 0x1",
		"@ ./prog:0x123b] + 0x10 0x1",
		"@ ./prog:[0x123b]+ 0x10 0x1",
		"- 0x10 0x1",
		"- nil",
		"hello",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++) {
		struct malloc_log_line line;

		if (malloc_log_parse(others[i], strlen(others[i]), &line) != -EBADMSG)
			fail_msg("a line: %s", others[i]);
	}
}

/* Each line is in memory of its own length, so that sanitizers detect more. */
static void test_truncated_and_changed_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		size_t length = strlen(lines[i].text);

		for (size_t cut = 0; cut <= length; cut++) {
			struct malloc_log_line line;
			char *copy = malloc(cut ? cut : 1);

			assert_non_null(copy);
			memcpy(copy, lines[i].text, cut);
			(void)malloc_log_parse(copy, cut, &line);
			for (size_t at = 0; at < cut; at++) {
				copy[at] ^= 1;
				(void)malloc_log_parse(copy, cut, &line);
				copy[at] ^= 1;
			}
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_invalid_lines),
		cmocka_unit_test(test_truncated_and_changed_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
