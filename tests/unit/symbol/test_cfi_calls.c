// SPDX-License-Identifier: GPL-2.0-or-later
/* Which instructions can be calls, by processor. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "symbol/cfi/calls.h"
#include "symbol/cfi/machine.h"

/* A return address is checked by the code right before it. */
static void test_return_behind(void **state)
{
	static const struct {
		const char *name;
		unsigned int machine;
		const char *code; /* CFI_CALL_MAX bytes */
		bool can;
	} cases[] = {
		{"call rel32", EM_X86_64, "\x90\x90\x90\xe8\1\2\3\4", true},
		{"call and nop", EM_X86_64, "\x90\x90\xe8\1\2\3\4\x90", false},
		{"call *table(,%eax,8)", EM_386, "\x90\xff\x14\xc5\1\2\3\4", true},
		{"bl", EM_AARCH64, "\0\0\0\0\1\0\0\x94", true},
		{"blr x1", EM_AARCH64, "\0\0\0\0\x20\0\x3f\xd6", true},
		{"bl and nop", EM_AARCH64, "\1\0\0\x94\x1f\x20\x03\xd5", false},
		{"bl, not aligned", EM_AARCH64, "\0\0\0\1\0\0\x94\0", false},
		{"b", EM_AARCH64, "\0\0\0\0\1\0\0\x14", false},
		{"bl of Arm", EM_ARM, "\0\0\0\0\1\0\0\xeb", true},
		{"mov lr, pc; bx r3", EM_ARM, "\x0f\xe0\xa0\xe1\x13\xff\x2f\xe1", true},
		{"blx r3 of Thumb", EM_ARM, "\0\0\0\0\0\0\x98\x47", true},
		{"pop of Thumb", EM_ARM, "\0\0\0\0\0\0\x10\xbd", false},
		{"bl of PowerPC", EM_PPC, "\0\0\0\0\x48\0\1\1", true},
		{"b of PowerPC", EM_PPC, "\0\0\0\0\x48\0\1\0", false},
		{"a processor not known", EM_SPARC, "\0\0\0\0\0\0\0\0", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (cfi_can_return_behind(cases[i].machine, (const uint8_t *)cases[i].code) !=
		    cases[i].can)
			fail_msg("%s", cases[i].name);
}

#define CODE_BYTES 64 /* several times the amount that is searched at once */

static const struct {
	const char *name;
	unsigned int machine;
	cfi_call_search *search;
	const char *likely; /* typical bytes of calls */
	size_t step;
} searches[] = {
	{"x86", EM_X86_64, cfi_x86_call_end, "\xe8\xff\xff\x10\x14\x15\x50\x54\x90\x94\xd0\x25\0",
	 1},
	{"AArch64", EM_AARCH64, cfi_aarch64_call_end, "\x94\x97\x3f\xd6\x20\0", 4},
	{"Arm", EM_ARM, cfi_arm_call_end, "\xeb\x47\x98\xf0\xf8\x0f\xe0\xa0\xe1\0", 2},
	{"PowerPC", EM_PPC, cfi_powerpc_call_end, "\x48\x4c\x4e\x42\x21\1\0", 4},
};

/* There is no call at the start, where a file has its header. */
static void make_code(uint8_t code[CODE_BYTES], const char *likely, int rarity)
{
	size_t count = strlen(likely) + 1;

	memset(code, 0, CFI_CALL_MAX);
	for (size_t i = CFI_CALL_MAX; i < CODE_BYTES; i++)
		code[i] =
			rand() % rarity ? (uint8_t)rand() : (uint8_t)likely[(size_t)rand() % count];
}

/* The reference: checks every position. */
static size_t first_end(size_t which, const uint8_t *code, size_t start, size_t end)
{
	size_t step = searches[which].step;

	for (size_t at = start / step * step + step; at <= end; at += step)
		if (at >= CFI_CALL_MAX &&
		    cfi_can_return_behind(searches[which].machine, code + at - CFI_CALL_MAX))
			return at;
	return CFI_NO_CALL;
}

static void check_search(size_t which, const uint8_t code[CODE_BYTES])
{
	for (size_t end = 0; end <= CODE_BYTES; end++) {
		uint8_t *file = malloc(end + 1); /* so that sanitizers detect reads beyond it */

		assert_non_null(file);
		memcpy(file + 1, code, end);
		for (size_t start = 0; start <= end; start++) {
			size_t found = searches[which].search(file + 1, start, end);

			if (found != first_end(which, code, start, end))
				fail_msg("%s: call end %zd in %zu to %zu", searches[which].name,
					 (ssize_t)found, start, end);
		}
		free(file);
	}
}

/* The search for the first call finds the same as a check of every position. */
static void test_first_call(void **state)
{
	uint8_t code[CODE_BYTES];

	(void)state;
	srand(1);
	for (size_t which = 0; which < sizeof(searches) / sizeof(searches[0]); which++)
		for (int i = 0; i < 200; i++) {
			make_code(code, searches[which].likely, i % 20 + 1);
			check_search(which, code);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_call),
		cmocka_unit_test(test_return_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
