// SPDX-License-Identifier: GPL-2.0-or-later
/* What can be a call, by processor. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <stdbool.h>

#include "symbol/cfi.h"

/* A return address is checked by what stands right before it. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_return_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
