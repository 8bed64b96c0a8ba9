/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each rule for the choice of the probed instruction, on hand-made code: what it accepts and what
 * it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/probe_site/choice.h"

#define ADDRESS   0x401000
#define LARGE     (FUNCTION_CODE_MAX + 16)
#define FIRST     1u /* arguments that must be in place */
#define THIRD     4u
#define BYTES(of) (of), sizeof(of) - 1

struct example {
	const char *name;
	const char *bytes;
	size_t size;
	uint32_t arguments;
	size_t offset; /* expected */
	bool emulated;
	const char *words; /* in the reason or the instruction */
};

static const struct example examples_64[] = {
	/* instructions that the kernel emulates */
	{"push", BYTES("\x55\xc3"), FIRST, 0, true, "push"},
	{"push of a high register", BYTES("\x41\x54\xc3"), FIRST, 0, true, "%r12"},
	{"nop", BYTES("\x31\xc0\x90\xc3"), FIRST, 2, true, "entry is xor"},
	{"short branch", BYTES("\x48\x85\xff\x74\x01\xc3\xc3"), FIRST, 3, true, "je"},
	{"long branch", BYTES("\x48\x85\xff\x0f\x84\x01\0\0\0\xc3\xc3"), FIRST, 3, true, "je"},
	{"short jump", BYTES("\x31\xc0\xeb\x00\xc3"), FIRST, 2, true, "jmp"},
	{"long jump", BYTES("\x31\xc0\xe9\0\0\0\0\xc3"), FIRST, 2, true, "jmp"},
	{"call", BYTES("\x31\xc0\xe8\0\1\0\0\xc3"), FIRST, 2, true, "call"},
	/* similar ones that it does not emulate */
	{"push with REX.W", BYTES("\x48\x55\xc3"), FIRST, 0, false, "push"},
	{"word-sized branch", BYTES("\x31\xc0\x66\x0f\x84\1\0\0\0\xc3\xc3"), FIRST, 0, false, "+2"},
	{"pause", BYTES("\xf3\x90\x55\xc3"), FIRST, 0, false, "pause"},
	{"two-byte nop is passed", BYTES("\x66\x90\x55\xc3"), FIRST, 2, true, "push"},
	{"jrcxz", BYTES("\xe3\x00\x55\xc3"), FIRST, 0, false, "+0"},
	{"loop", BYTES("\xe2\x00\x55\xc3"), FIRST, 0, false, "+0"},
	/* the stack pointer */
	{"sub from it", BYTES("\x48\x83\xec\x08\x55\xc3"), FIRST, 0, false, "stack pointer"},
	{"lea of it", BYTES("\x48\x8d\x64\x24\xf8\x55\xc3"), FIRST, 0, false, "stack pointer"},
	{"mov to it", BYTES("\x48\x89\xc4\x55\xc3"), FIRST, 0, false, "stack pointer"},
	{"pop", BYTES("\x58\x55\xc3"), FIRST, 0, false, "pop"},
	/* arguments */
	{"%edi written", BYTES("\x31\xff\x90\xc3"), FIRST, 0, false, "argument"},
	{"%dil written", BYTES("\x40\xb7\x01\x90\xc3"), FIRST, 0, false, "argument"},
	{"%di written", BYTES("\x66\xbf\x01\x00\x90\xc3"), FIRST, 0, false, "argument"},
	{"%dh written", BYTES("\xb6\x01\x90\xc3"), THIRD, 0, false, "argument"},
	{"%dh does not matter", BYTES("\xb6\x01\x90\xc3"), FIRST, 2, true, "nop"},
	{"%esi does not matter", BYTES("\x31\xf6\x90\xc3"), FIRST, 2, true, "nop"},
	{"%r9 written", BYTES("\x4d\x31\xc9\x90\xc3"), 1u << 5, 0, false, "argument"},
	{"mul writes %rdx", BYTES("\x48\xf7\xe6\x90\xc3"), THIRD, 0, false, "mul"},
	{"rep stos writes %rdi", BYTES("\xf3\xaa\x90\xc3"), FIRST, 0, false, "stos"},
	{"lods writes %rsi", BYTES("\xac\x90\xc3"), 2u, 0, false, "lods"},
	{"xchg writes both", BYTES("\x48\x87\xf8\x90\xc3"), FIRST, 0, false, "xchg"},
	{"syscall writes %rcx", BYTES("\x0f\x05\x90\xc3"), 8u, 0, false, "syscall"},
	/* instructions that a call may skip, or execute without a probe */
	{"memory written", BYTES("\x89\x07\x90\xc3"), FIRST, 0, false, "memory"},
	{"computed call", BYTES("\xff\xd0\x90\xc3"), FIRST, 0, false, "call"},
	{"return", BYTES("\xc3\x90"), FIRST, 0, false, "ret"},
	{"nothing cheaper", BYTES("\x31\xc0"), FIRST, 0, false, "no cheaper"},
	/* landing pads */
	{"endbr64", BYTES("\xf3\x0f\x1e\xfa\x55\xc3"), FIRST, 4, true, "entry is endbr64"},
	/* reached repeatedly */
	{"loop to the site", BYTES("\x48\x85\xff\x74\x02\xeb\xfc\xc3"), FIRST, 0, false,
	 "branch at +5 leads back to +3"},
	{"loop to before the site", BYTES("\x31\xc0\x85\xff\x74\x02\xeb\xfa\xc3"), FIRST, 0, false,
	 "leads back to +2"},
	{"loop to the entry", BYTES("\x48\x85\xff\x74\x02\xeb\xf9\xc3"), FIRST, 3, true, "je"},
	{"loop behind the site", BYTES("\x48\x85\xff\x74\x02\xeb\xfe\xc3"), FIRST, 3, true, "je"},
	{"loop to a site at the entry", BYTES("\x55\xeb\xfd"), FIRST, 0, true, "push"},
	{"jump by register", BYTES("\x48\x85\xff\x74\x02\xff\xe0\xc3"), FIRST, 0, false,
	 "computed jump"},
	{"jump by table", BYTES("\x48\x85\xff\x74\x07\xff\x24\xc5\0\0\0\0\xc3"), FIRST, 0, false,
	 "computed jump"},
	{"jump by one pointer", BYTES("\x48\x85\xff\x74\x06\xff\x25\0\0\0\0\xc3"), FIRST, 3, true,
	 "je"},
	{"not code further on", BYTES("\x48\x85\xff\x74\x00\x06\x06"), FIRST, 0, false,
	 "cannot be decoded"},
	{"cut off", BYTES("\x48\x85\xff\x74\x00\x48"), FIRST, 0, false, "cannot be decoded"},
	{"not code at all", BYTES("\x06\x06"), FIRST, 0, false, ""},
	{"empty", BYTES(""), FIRST, 0, false, ""},
};

static const struct example examples_32[] = {
	{"push", BYTES("\x55\xc3"), FIRST, 0, true, "push"},
	{"argument loaded", BYTES("\x8b\x44\x24\x04\x85\xc0\x74\x00\xc3"), FIRST, 6, true, "je"},
	{"argument overwritten", BYTES("\x89\x44\x24\x04\x55\xc3"), FIRST, 0, false, "memory"},
	{"registers are no arguments", BYTES("\x31\xff\x90\xc3"), FIRST, 2, true, "nop"},
	{"stack pointer", BYTES("\x83\xec\x0c\x55\xc3"), FIRST, 0, false, "stack pointer"},
	{"no REX here", BYTES("\x41\x55\xc3"), FIRST, 1, true, "entry is inc"},
	{"call", BYTES("\x31\xc0\xe8\0\1\0\0\xc3"), FIRST, 2, true, "call"},
	{"loop to the site", BYTES("\x85\xc0\x74\x02\xeb\xfc\xc3"), FIRST, 0, false, "back to +2"},
};

#define NOP5 "\x0f\x1f\x44\x00\x00"
/* Kernels that rewrite nop5 to a call. */
static const struct example examples_nop5[] = {
	{"at the entry", BYTES(NOP5 "\x55\xc3"), FIRST, 0, true, "nop"},
	{"behind endbr64", BYTES("\xf3\x0f\x1e\xfa" NOP5 "\x55\xc3"), FIRST, 4, true, "nop"},
	{"never elsewhere", BYTES("\x31\xc0\x66\x90" NOP5 "\x55\xc3"), FIRST, 9, true, "push"},
	{"nor behind a nop4", BYTES("\x0f\x1f\x40\x00" NOP5 "\x55\xc3"), FIRST, 9, true, "push"},
};
static const struct example examples_no_nop5[] = {
	{"at the entry", BYTES(NOP5 "\x55\xc3"), FIRST, 5, true, "push"},
	{"behind endbr64", BYTES("\xf3\x0f\x1e\xfa" NOP5 "\x55\xc3"), FIRST, 9, true, "push"},
};

static struct site_choice choose(const void *bytes, size_t size, uint32_t arguments, int machine,
				 bool nop5_is_free)
{
	struct function_code code = {
		.bytes = bytes,
		.size = size,
		.address = ADDRESS,
		.machine = machine,
		.elf64 = machine == EM_X86_64,
		.nop5_is_free = nop5_is_free,
	};
	struct site_choice choice;

	site_choose(&code, arguments, &choice);
	return choice;
}

static void check(const struct example *example, int machine, bool nop5_is_free)
{
	/* A copy of exactly this size, so that sanitizers detect reads beyond it. */
	char *bytes = malloc(example->size + !example->size);
	struct site_choice choice;

	assert_non_null(bytes);
	memcpy(bytes, example->bytes, example->size);
	choice = choose(bytes, example->size, example->arguments, machine, nop5_is_free);
	free(bytes);
	if (choice.offset != example->offset || choice.emulated != example->emulated ||
	    (!strstr(choice.reason, example->words) && !strstr(choice.instruction, example->words)))
		fail_msg("%s: +%zu: %s (%s)", example->name, choice.offset, choice.instruction,
			 choice.reason);
}

#define CHECK_ALL(examples, machine, nop5_is_free)                            \
	for (size_t i = 0; i < sizeof(examples) / sizeof((examples)[0]); i++) \
	check(&(examples)[i], machine, nop5_is_free)

static void test_x86_64(void **state)
{
	(void)state;
	CHECK_ALL(examples_64, EM_X86_64, false);
	CHECK_ALL(examples_64, EM_X86_64, true);
}

static void test_i386(void **state)
{
	(void)state;
	CHECK_ALL(examples_32, EM_386, false);
}

static void test_nop5(void **state)
{
	(void)state;
	CHECK_ALL(examples_nop5, EM_X86_64, true);
	CHECK_ALL(examples_no_nop5, EM_X86_64, false);
	CHECK_ALL(examples_no_nop5, EM_386, true);
}

static void test_other_machine(void **state)
{
	struct site_choice choice = choose("\xfd\x7b\xbf\xa9", 4, FIRST, EM_AARCH64, false);

	(void)state;
	assert_int_equal(choice.offset, 0);
	assert_false(choice.emulated);
	assert_string_not_equal(choice.reason, "");
}

/* Too much code to decode: only a cheap entry is still known to be cheap. */
static void test_large(void **state)
{
	uint8_t *bytes = malloc(LARGE);
	struct site_choice choice;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 0x90, LARGE);
	assert_true(choose(bytes, LARGE, FIRST, EM_X86_64, false).emulated);
	memcpy(bytes, "\x48\x85\xff", 3);
	choice = choose(bytes, LARGE, FIRST, EM_X86_64, false);
	assert_int_equal(choice.offset, 0);
	assert_false(choice.emulated);
	assert_int_equal(choose(bytes, 1000, FIRST, EM_X86_64, false).offset, 3);
	free(bytes);
}

/* The line that -v prints: function+offset: instruction (reason). */
static void test_words(void **state)
{
	struct site_choice choice =
		choose("\x48\x85\xff\x74\x01\xc3\xc3", 7, FIRST, EM_X86_64, false);

	(void)state;
	assert_string_equal(choice.instruction, "je 0x401006");
	assert_string_equal(choice.reason, "emulated, 1 trap; entry is test: 2 traps");
	choice = choose("\x48\x83\xec\x08\xc3", 5, FIRST, EM_X86_64, false);
	assert_string_equal(choice.instruction, "subq $8, %rsp");
	assert_string_equal(choice.reason, "2 traps; sub at +0 moves the stack pointer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86_64), cmocka_unit_test(test_i386),
		cmocka_unit_test(test_nop5),   cmocka_unit_test(test_other_machine),
		cmocka_unit_test(test_large),  cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
