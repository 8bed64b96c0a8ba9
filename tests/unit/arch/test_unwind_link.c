// SPDX-License-Identifier: GPL-2.0-or-later
/* Single steps on a made-up stack, on processors where calls put the return address into a
 * register. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "arch/unwind_link.h"
#include "symbol/cfi/machine.h"

#define STACK 0x10000
#define SIZE  128 /* words */

/* Word n, unless set, is its own address + 0x100000. */
struct stack {
	unsigned int word;
	uint64_t words[SIZE];
};

static int unwind_read(void *ctx, const struct unwind_abi *abi, abi_u64 address, abi_u64 *ret_word)
{
	const struct stack *stack = ctx;
	uint64_t index = (address - STACK) / stack->word;

	assert_int_equal(abi->word, stack->word);
	if (address < STACK || index >= SIZE || address % stack->word)
		return -1;
	*ret_word = stack->words[index];
	return 0;
}

static void invent(struct stack *stack, const struct unwind_abi *abi)
{
	stack->word = abi->word;
	for (size_t i = 0; i < SIZE; i++)
		stack->words[i] = STACK + i * abi->word + 0x100000;
}

static uint64_t at(const struct unwind_abi *abi, size_t n)
{
	return STACK + n * abi->word;
}

/* The frame of an interrupted thread: all registers are known. */
static struct unwind_linked first_frame(uint64_t bp, uint64_t second)
{
	return (struct unwind_linked){
		.frame = {.ip = 0x4000, .sp = STACK, .bp = bp},
		.link = {.value = 0x5001},
		.second = {.value = second},
	};
}

static void check_register(struct stack *stack, const struct unwind_abi *abi,
			   struct unwind_register held, uint64_t expected)
{
	assert_int_equal(unwind_load(stack, abi, &held), UNWIND_CONTINUE);
	assert_int_equal(held.value, expected);
}

static void check_bp(struct stack *stack, const struct unwind_abi *abi,
		     const struct unwind_linked *linked, uint64_t expected)
{
	check_register(stack, abi,
		       (struct unwind_register){linked->frame.bp, linked->frame.bp_place},
		       expected);
}

/*
 * The link register.
 */

static void test_link_kept(void **state)
{
	static const struct unwind_abi *const abis[] = {&unwind_abi_aarch64, &unwind_abi_arm,
							&unwind_abi_powerpc};
	struct unwind_row row = {.cfa_offset = 0};
	struct stack stack;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct unwind_linked linked = first_frame(7, 8);

		invent(&stack, abis[i]);
		assert_int_equal(unwind_link_step(&stack, abis[i], &row, &linked), UNWIND_CONTINUE);
		assert_int_equal(linked.frame.ip, 0x5001 & abis[i]->ip_mask);
		assert_int_equal(linked.mode, abis[i] == &unwind_abi_arm);
		assert_int_equal(linked.frame.sp, STACK);
		check_bp(&stack, abis[i], &linked, 7);
		/* The call has overwritten the link register: the same row cannot continue. */
		assert_int_equal(unwind_link_step(&stack, abis[i], &row, &linked), UNWIND_NO_RULE);
		assert_int_equal(linked.frame.ip, 0x5001 & abis[i]->ip_mask);
	}
}

static void test_end(void **state)
{
	struct unwind_linked linked = first_frame(7, 8);
	struct unwind_row row = {.cfa_offset = 2};
	struct stack stack;

	(void)state;
	invent(&stack, &unwind_abi_arm);
	linked.link.value = 1; /* 0, in Thumb mode */
	assert_int_equal(unwind_link_step(&stack, &unwind_abi_arm, &row, &linked), UNWIND_END);
	row.kinds = UNWIND_CFA_END;
	assert_int_equal(unwind_link_step(&stack, &unwind_abi_arm, &row, &linked), UNWIND_END);
	row.kinds = UNWIND_CFA_GAP;
	assert_int_equal(unwind_link_step(&stack, &unwind_abi_arm, &row, &linked), UNWIND_NO_TABLE);
	row.kinds = UNWIND_CFA_STOP;
	assert_int_equal(unwind_link_step(&stack, &unwind_abi_arm, &row, &linked), UNWIND_NO_RULE);
}

static void test_no_progress(void **state)
{
	struct unwind_linked linked = first_frame(STACK - 8, 8);
	struct unwind_row row = {.kinds = UNWIND_ROW_LINK_SAVED};
	struct stack stack;

	(void)state;
	invent(&stack, &unwind_abi_aarch64);
	assert_int_equal(unwind_link_step(&stack, &unwind_abi_aarch64, &row, &linked),
			 UNWIND_NO_PROGRESS);
	row.kinds = UNWIND_CFA_BP; /* uses the link register, but moves down */
	assert_int_equal(unwind_link_step(&stack, &unwind_abi_aarch64, &row, &linked),
			 UNWIND_NO_PROGRESS);
	assert_int_equal(linked.frame.sp, STACK);
}

/* AArch64: a pair of saved registers anywhere in the frame. */

static void test_record(void **state)
{
	const struct unwind_abi *abi = &unwind_abi_aarch64;
	struct unwind_row row = {
		.cfa_offset = 20,
		.kinds = UNWIND_LINK_KINDS(UNWIND_CFA_SP, UNWIND_SAVED) | UNWIND_ROW_LINK_SAVED,
		.bp_offset = -4,
	};
	struct unwind_linked linked = first_frame(7, 8);
	struct stack stack;

	(void)state;
	invent(&stack, abi);
	stack.words[17] = 0x00430000deadbee0; /* with a pointer authentication code */
	assert_int_equal(unwind_link_step(&stack, abi, &row, &linked), UNWIND_CONTINUE);
	assert_int_equal(linked.frame.ip, 0xdeadbee0);
	assert_int_equal(linked.frame.sp, at(abi, 20));
	check_bp(&stack, abi, &linked, at(abi, 16) + 0x100000);
}

static void test_record_from_base(void **state)
{
	const struct unwind_abi *abi = &unwind_abi_aarch64;
	struct unwind_row row = {
		.cfa_offset = 100,
		.kinds = UNWIND_LINK_KINDS(UNWIND_CFA_BP, UNWIND_SAVED) | UNWIND_ROW_LINK_SAVED |
			 UNWIND_ROW_FROM_BASE,
		.bp_offset = 2,
	};
	struct unwind_linked linked = first_frame(at(&unwind_abi_aarch64, 10), 8);
	struct stack stack;

	(void)state;
	invent(&stack, abi);
	assert_int_equal(unwind_link_step(&stack, abi, &row, &linked), UNWIND_CONTINUE);
	assert_int_equal(linked.frame.ip, at(abi, 13) + 0x100000);
	assert_int_equal(linked.frame.sp, at(abi, 110));
	check_bp(&stack, abi, &linked, at(abi, 12) + 0x100000);
}

/*
 * Arm: two frame pointers.
 */

#define PUSHED(kind, link, bp, second)                                     \
	.kinds = (abi_u8)((kind) | ((bp) << 3 | (second) << 7) >> 8 << 4), \
	.bp_offset = (signed char)(abi_u8)((link) | (bp) << 3 | (second) << 7)

static void test_pushed(void **state)
{
	const struct unwind_abi *abi = &unwind_abi_arm;
	const struct unwind_row by_r7 = {.cfa_offset = 2, PUSHED(UNWIND_CFA_SECOND, 1, 15, 2)};
	const struct unwind_row by_fp = {.cfa_offset = 8, PUSHED(UNWIND_CFA_BP, 5, 6, 10)};
	struct unwind_linked linked = first_frame(at(&unwind_abi_arm, 20), at(&unwind_abi_arm, 4));
	struct unwind_linked other = linked;
	struct stack stack;

	(void)state;
	invent(&stack, abi);
	stack.words[5] = 0x8001; /* in Thumb mode */
	assert_int_equal(unwind_link_step(&stack, abi, &by_r7, &linked), UNWIND_CONTINUE);
	assert_int_equal(linked.frame.ip, 0x8000);
	assert_int_equal(linked.mode, 1);
	assert_int_equal(linked.frame.sp, at(abi, 6));
	check_register(&stack, abi, linked.second, at(abi, 4) + 0x100000);
	assert_int_equal(unwind_link_step(&stack, abi, &by_fp, &linked), UNWIND_NO_BP);
	assert_int_equal(unwind_link_step(&stack, abi, &by_fp, &other), UNWIND_CONTINUE);
	assert_int_equal(other.frame.ip, at(abi, 23) + 0x100000);
	assert_int_equal(other.mode, 0);
	assert_int_equal(other.frame.sp, at(abi, 28));
	check_bp(&stack, abi, &other, at(abi, 22) + 0x100000);
	check_register(&stack, abi, other.second, at(abi, 18) + 0x100000);
}

/*
 * PowerPC: a slot above the CFA, a scratch register, and the back chain.
 */

static void test_fixed(void **state)
{
	const struct unwind_abi *abi = &unwind_abi_powerpc;
	const struct unwind_row row = {
		.cfa_offset = 8,
		.kinds = UNWIND_LINK_KINDS(UNWIND_CFA_SP, UNWIND_SAVED) | UNWIND_ROW_LINK_SAVED,
		.bp_offset = -1,
	};
	struct unwind_linked linked = first_frame(7, 0x6000);
	struct stack stack;

	(void)state;
	invent(&stack, abi);
	assert_int_equal(unwind_link_step(&stack, abi, &row, &linked), UNWIND_CONTINUE);
	assert_int_equal(linked.frame.ip, at(abi, 9) + 0x100000);
	assert_int_equal(linked.frame.sp, at(abi, 8));
	check_bp(&stack, abi, &linked, at(abi, 7) + 0x100000);
	assert_int_equal(linked.second.place, UNWIND_BP_UNKNOWN);
}

static void test_scratch(void **state)
{
	const struct unwind_abi *abi = &unwind_abi_powerpc;
	const struct unwind_row row = {
		.cfa_offset = 8,
		.kinds = UNWIND_CFA_SP | UNWIND_ROW_IN_SCRATCH,
	};
	struct unwind_linked linked = first_frame(7, 0x6000);
	struct stack stack;

	(void)state;
	invent(&stack, abi);
	assert_int_equal(unwind_link_step(&stack, abi, &row, &linked), UNWIND_CONTINUE);
	assert_int_equal(linked.frame.ip, 0x6000);
	assert_int_equal(unwind_link_step(&stack, abi, &row, &linked), UNWIND_NO_RULE);
}

static void test_back_chain(void **state)
{
	const struct unwind_abi *abi = &unwind_abi_powerpc;
	static const struct unwind_row gap = {.kinds = UNWIND_CFA_GAP};
	static const struct unwind_row by_bp = {.kinds = UNWIND_CFA_BP};
	struct unwind_linked linked = first_frame(7, 8);
	struct stack stack;

	(void)state;
	invent(&stack, abi);
	stack.words[0] = at(abi, 10);
	stack.words[10] = at(abi, 20);
	stack.words[20] = 0;
	assert_int_equal(unwind_call_step(&stack, abi, &gap, &linked), UNWIND_CONTINUE);
	assert_int_equal(linked.frame.ip, at(abi, 11) + 0x100000);
	assert_int_equal(linked.frame.sp, at(abi, 10));
	/* The back chain does not give r31. */
	assert_int_equal(unwind_call_step(&stack, abi, &by_bp, &linked), UNWIND_CONTINUE);
	assert_int_equal(linked.frame.sp, at(abi, 20));
	assert_int_equal(unwind_call_step(&stack, abi, &gap, &linked), UNWIND_END);
	/* Other ABIs have no back chain. */
	linked = first_frame(7, 8);
	invent(&stack, &unwind_abi_aarch64);
	assert_int_equal(unwind_call_step(&stack, &unwind_abi_aarch64, &gap, &linked),
			 UNWIND_NO_TABLE);
}

/* Signal frames in the layouts of the kernels. */

static const struct signal_case {
	const char *name;
	const struct unwind_abi *abi;
	unsigned int machine;
	const char *code;
	size_t size;
	size_t sp; /* words from sp to the saved registers */
	int ip, bp, link, second;
} signals[] = {
	{"AArch64", &unwind_abi_aarch64, EM_AARCH64, "\x68\x11\x80\xd2\x01\x00\x00\xd4", 8, 70, 71,
	 68, 69, 0},
	{"ARM", &unwind_abi_arm, EM_ARM, "\x77\x70\xa0\xe3\x00\x00\x00\xef", 8, 21, 23, 19, 22, 15},
	{"ARM, rt", &unwind_abi_arm, EM_ARM, "\xad\x70\xa0\xe3\x00\x00\x00\xef", 8, 53, 55, 51, 54,
	 47},
	{"Thumb", &unwind_abi_arm, EM_ARM, "\x77\x27\x00\xdf", 4, 21, 23, 19, 22, 15},
	{"Thumb, rt", &unwind_abi_arm, EM_ARM, "\xad\x27\x00\xdf", 4, 53, 55, 51, 54, 47},
};

static void test_signals(void **state)
{
	struct stack stack;

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		const struct signal_case *signal = &signals[i];
		struct unwind_linked linked = first_frame(7, 8);
		struct unwind_row row;

		invent(&stack, signal->abi);
		assert_true(cfi_trampoline_row(signal->machine, signal->code, signal->size, &row));
		assert_int_equal(unwind_link_step(&stack, signal->abi, &row, &linked),
				 UNWIND_INTERRUPTED);
		assert_int_equal(linked.frame.sp, stack.words[signal->sp]);
		assert_int_equal(linked.frame.ip, stack.words[signal->ip] & signal->abi->ip_mask);
		check_bp(&stack, signal->abi, &linked, stack.words[signal->bp]);
		check_register(&stack, signal->abi, linked.link, stack.words[signal->link]);
		if (signal->second)
			check_register(&stack, signal->abi, linked.second,
				       stack.words[signal->second]);
	}
}

/* Through a pointer to the registers: r0, r1, … r31, nip, msr, orig_r3, ctr, lr. */
static void test_signal_powerpc(void **state)
{
	const struct unwind_abi *abi = &unwind_abi_powerpc;
	struct unwind_linked linked = first_frame(7, 8);
	struct unwind_row row;
	struct stack stack;

	(void)state;
	invent(&stack, abi);
	assert_true(cfi_trampoline_row(EM_PPC, "\x38\x00\x00\xac\x44\x00\x00\x02", 8, &row));
	assert_int_equal(row.cfa_offset, 64);
	stack.words[64] = at(abi, 70);
	assert_int_equal(unwind_link_step(&stack, abi, &row, &linked), UNWIND_INTERRUPTED);
	assert_int_equal(linked.frame.sp, stack.words[71]);
	assert_int_equal(linked.frame.ip, stack.words[102]);
	check_bp(&stack, abi, &linked, stack.words[101]);
	check_register(&stack, abi, linked.link, stack.words[106]);
	check_register(&stack, abi, linked.second, stack.words[70]);
}

static void test_no_trampoline(void **state)
{
	struct unwind_row row;

	(void)state;
	assert_false(cfi_trampoline_row(EM_ARM, "\x77\x27\x00", 3, &row));
	assert_false(cfi_trampoline_row(EM_ARM, "\x77\x27\x00\xde", 4, &row));
	assert_false(cfi_trampoline_row(EM_MIPS, "\x77\x27\x00\xdf", 4, &row));
}

/* x86 uses the plain step. */
static void test_x86_uses_the_plain_step(void **state)
{
	struct unwind_linked linked = first_frame(7, 8);
	struct unwind_row row = {.cfa_offset = 3};
	struct stack stack;

	(void)state;
	invent(&stack, &unwind_abi_x86_64);
	assert_int_equal(unwind_any_step(&stack, &unwind_abi_x86_64, &row, &linked),
			 UNWIND_CONTINUE);
	assert_int_equal(linked.frame.ip, at(&unwind_abi_x86_64, 2) + 0x100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link_kept),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_no_progress),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_record_from_base),
		cmocka_unit_test(test_pushed),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_scratch),
		cmocka_unit_test(test_back_chain),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_signal_powerpc),
		cmocka_unit_test(test_no_trampoline),
		cmocka_unit_test(test_x86_uses_the_plain_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
