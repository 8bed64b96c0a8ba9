// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arm code without unwind information: what is derived from its instructions, and what must not be.
 * (test_exidx.c compares whole programs with .debug_frame.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/unwind_link_row.h"
#include "symbol/exidx/flow.h"

/* A row as text: the CFA, and how many words below it lr, fp and r7 are saved. */
static void print_row(const struct unwind_row *row, char text[64])
{
	static const char *const bases[16] = {
		[UNWIND_CFA_SP] = "sp",
		[UNWIND_CFA_BP] = "fp",
		[UNWIND_CFA_SECOND] = "r7",
	};
	unsigned int bits = unwind_row_pushed(row);

	if (unwind_row_cfa(row) == UNWIND_CFA_GAP)
		strcpy(text, "-");
	else if (unwind_row_cfa(row) == UNWIND_CFA_END)
		strcpy(text, "end");
	else
		sprintf(text, "%s%+d %u %u %u", bases[unwind_row_cfa(row)], row->cfa_offset,
			bits & 7, bits >> 3 & 15, bits >> 7 & 15);
}

/* The row at an offset. */
static void row_at(const struct exidx_flow *flow, uint32_t at, char text[64])
{
	const struct unwind_row *row, *found = NULL;

	vec_each (row, &flow->rows)
		if (row->offset <= at)
			found = row;
	strcpy(text, "-");
	if (found)
		print_row(found, text);
}

#define CODE_MAX  32
#define ROWS_MAX  6
#define NO_SYMBOL UINT32_MAX

/* Halfwords of Thumb, or words of ARM, and the expected rows at some offsets. */
struct code_case {
	const char *name;
	bool is_thumb;
	uint32_t symbol; /* the offset of a symbol */
	size_t count;
	uint32_t code[CODE_MAX];
	struct {
		uint32_t at;
		const char *row;
	} rows[ROWS_MAX];
};

static void follow(const struct code_case *each, struct exidx_flow *flow)
{
	struct exidx_start start = {.at = each->symbol, .is_thumb = each->is_thumb};
	size_t width = each->is_thumb ? 2 : 4;
	uint8_t bytes[CODE_MAX * 4];
	struct exidx_flow_code code = {
		.bytes = bytes,
		.size = (uint32_t)(each->count * width),
		.starts = &start,
		.start_count = each->symbol != NO_SYMBOL,
		.is_thumb = each->is_thumb,
	};

	for (size_t i = 0; i < each->count * width; i++)
		bytes[i] = (uint8_t)(each->code[i / width] >> 8 * (i % width));
	assert_int_equal(exidx_flow_follow(&code, flow), 0);
}

#define CODE(label, thumb, place, ...)                           \
	.name = (label), .is_thumb = (thumb), .symbol = (place), \
	.count = sizeof((uint32_t[]){__VA_ARGS__}) / 4, .code = {__VA_ARGS__}
#define THUMB(label, place, ...) CODE(label, true, place, __VA_ARGS__)
#define ARM(label, place, ...)   CODE(label, false, place, __VA_ARGS__)

static const struct code_case cases[] = {
	/* push {r4, lr}; sub sp, #8; blx r3; add sp, #8; pop {r4, pc} */
	{THUMB("plain", NO_SYMBOL, 0xb510, 0xb082, 0x4798, 0xbf00, 0xb002, 0xbd10),
	 .rows = {{0, "-"},
		  {2, "sp+2 1 0 0"},
		  {4, "sp+4 1 0 0"},
		  {8, "sp+4 1 0 0"},
		  {10, "sp+2 1 0 0"},
		  {12, "-"}}},
	/* The same, but it pops other registers than it pushed: pop {r4, r5, pc}. */
	{THUMB("other registers", 0, 0xb510, 0xb082, 0x4798, 0xbf00, 0xb002, 0xbd30),
	 .rows = {{4, "-"}, {10, "-"}}},
	/* … and it leaves four bytes on the stack. */
	{THUMB("forgotten", 0, 0xb510, 0xb082, 0x4798, 0xbf00, 0xb001, 0xbd10), .rows = {{4, "-"}}},
	/* push {r7, lr}; sub sp, #296; add r7, sp, #0; blx r3; mov r0, r0; b . : a thread's start,
	 * as it is behind a pool: ldr r2, [pc, #…] and so on come before. */
	{THUMB("never returns", NO_SYMBOL, 0x4770, 0x4a04, 0x447a, 0xb580, 0xb0ca, 0xaf00, 0x4798,
	       0xe7fd),
	 .rows = {{6, "-"}, {8, "sp+2 1 0 2"}, {12, "sp+76 1 0 2"}}},
	/* Code after a branch that may fall through is not necessarily the start of a function. */
	{THUMB("perhaps", NO_SYMBOL, 0xd001, 0xb510, 0x4798, 0xe7fd), .rows = {{4, "-"}}},
	/* push {r0-r3}; push {r4, lr}; blx r3; pop {r4, lr}; add sp, #16; bx lr */
	{THUMB("variadic", NO_SYMBOL, 0xb40f, 0xb510, 0x4798, 0xe8bd, 0x4010, 0xb004, 0x4770),
	 .rows = {{4, "sp+6 5 0 0"}, {10, "-"}}},
	/* Without the first push it is refused: it pops the caller's stack. */
	{THUMB("half of it", 0, 0xb510, 0x4798, 0xe8bd, 0x4010, 0xb004, 0x4770),
	 .rows = {{2, "-"}}},
	/* push {r4, lr}; cbz r0, +; blx r3; +: pop {r4, pc} */
	{THUMB("branch", 0, 0xb510, 0xb100, 0x4798, 0xbd10), .rows = {{4, "sp+2 1 0 0"}}},
	/* push {r4, lr}; cbz r0, +; push {r5}; +: blx r3; pop {r4, pc}: two ways, two frames */
	{THUMB("disagree", 0, 0xb510, 0xb100, 0xb420, 0x4798, 0xbd10), .rows = {{6, "-"}}},
	/* push {r4, lr}; it ne; popne {r4, pc}; blx r3; pop {r4, pc} */
	{THUMB("IT", 0, 0xb510, 0xbf18, 0xbd10, 0x4798, 0xbd10), .rows = {{6, "sp+2 1 0 0"}}},
	/* push {r4, lr}; it ne; subne sp, #8; blx r3; pop {r4, pc} */
	{THUMB("IT, and another frame", 0, 0xb510, 0xbf18, 0xb082, 0x4798, 0xbd10),
	 .rows = {{6, "-"}}},
	/* push {r7, lr}; mov r7, sp; sub sp, r3 (sub.w sp, sp, r3); blx r3; mov sp, r7; pop {r7,
	   pc} */
	{THUMB("alloca", 0, 0xb580, 0x466f, 0xebad, 0x0d03, 0x4798, 0x46bd, 0xbd80),
	 .rows = {{8, "r7+2 1 0 2"}}},
	/* The same, but sp is not restored from r7: the pop reads anything. */
	{THUMB("sp is lost", 0, 0xb580, 0x466f, 0xebad, 0x0d03, 0x4798, 0xbd80),
	 .rows = {{8, "-"}}},
	/* A call before lr is saved does not return; another function follows. */
	{THUMB("behind what does not return", 0, 0xb410, 0x4798, 0xb500, 0x4798, 0xbd00),
	 .rows = {{2, "-"}, {6, "sp+1 1 0 0"}}},
	/* push {r4, lr}; blx r3 (does not return); push {r5, r6, lr}; blx r3; pop {r5, r6, pc} */
	{THUMB("two functions", 0, 0xb510, 0x4798, 0xb560, 0x4798, 0xbd60),
	 .rows = {{2, "sp+2 1 0 0"}, {6, "sp+3 1 0 0"}}},
	/* push {r4, lr}; ldr r0, [pc, #0]; b over; data that is no code; over: pop {r4, pc} */
	{THUMB("data", 0, 0xb510, 0x4801, 0xe002, 0xbf00, 0xbd30, 0xbd30, 0x4798, 0xbd10),
	 .rows = {{8, "-"}, {12, "sp+2 1 0 0"}}},
	/* vpush {d8}; vpop: push {r4, lr}; vpush {d8}; blx r3; vpop {d8}; pop {r4, pc} */
	{THUMB("floating", 0, 0xb510, 0xed2d, 0x8b02, 0x4798, 0xecbd, 0x8b02, 0xbd10),
	 .rows = {{6, "sp+4 1 0 0"}, {12, "sp+2 1 0 0"}}},
	/* str lr, [sp, #-4]!; blx r3; ldr pc, [sp], #4 */
	{THUMB("str lr", 0, 0xf84d, 0xed04, 0x4798, 0xf85d, 0xfb04), .rows = {{4, "sp+1 1 0 0"}}},
	/* glibc's clone(), in the child: mov r7, #120; svc 0; …; blx ip; mov r7, #1; svc 0 */
	{THUMB("thread", 0, 0xb490, 0xf04f, 0x0778, 0xdf00, 0xbc90, 0x47e0, 0xf04f, 0x0701, 0xdf00),
	 .rows = {{10, "end"}, {12, "-"}}},
	/* Not without clone. */
	{THUMB("exit", 0, 0xb490, 0xbc90, 0x47e0, 0xf04f, 0x0701, 0xdf00), .rows = {{4, "-"}}},

	/* push {fp, lr}; add fp, sp, #4; sub sp, sp, #16; blx r3; sub sp, fp, #4; pop {fp, pc} */
	{ARM("ARM", NO_SYMBOL, 0xe92d4800, 0xe28db004, 0xe24dd010, 0xe12fff33, 0xe24bd004,
	     0xe8bd8800),
	 .rows = {{4, "sp+2 1 2 0"}, {8, "fp+1 1 2 0"}, {12, "fp+1 1 2 0"}, {20, "-"}}},
	/* push {r4, lr}; cmp; popeq {r4, pc}; blx r3; pop {r4, pc} */
	{ARM("ARM, perhaps", 0, 0xe92d4010, 0xe3500000, 0x08bd8010, 0xe12fff33, 0xe8bd8010),
	 .rows = {{12, "sp+2 1 0 0"}}},
	/* push {r4, lr}; subeq sp, sp, #8; blx r3; pop {r4, pc} */
	{ARM("ARM, two frames", 0, 0xe92d4010, 0x024dd008, 0xe12fff33, 0xe8bd8010),
	 .rows = {{8, "-"}}},
	/* push {r4, lr}; mov lr, pc; bx r3; pop {r4, lr}; bx lr */
	{ARM("ARM, old call", 0, 0xe92d4010, 0xe1a0e00f, 0xe12fff13, 0xe8bd4010, 0xe12fff1e),
	 .rows = {{4, "sp+2 1 0 0"}, {8, "sp+2 1 0 0"}}},
	{ARM("ARM, thread", 0, 0xe92d0090, 0xe3a07078, 0xef000000, 0xe8bd0090, 0xe12fff3c,
	     0xe3a07001, 0xef000000),
	 .rows = {{16, "end"}, {19, "end"}, {20, "-"}}},
	/* The end of a coroutine is looked up one byte before: bx lr; movs r0, r4; bne; b */
	{ARM("coroutine", 0, 0xe12fff1e, 0xe1b00004, 0x1affffe1, 0xea000000),
	 .rows = {{2, "-"}, {3, "end"}, {4, "-"}}},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct exidx_flow flow;

		follow(&cases[i], &flow);
		for (size_t k = 0; k < ROWS_MAX && cases[i].rows[k].row; k++) {
			char text[64];

			row_at(&flow, cases[i].rows[k].at, text);
			if (strcmp(text, cases[i].rows[k].row))
				fail_msg("%s, at %u: expected %s, got %s", cases[i].name,
					 cases[i].rows[k].at, cases[i].rows[k].row, text);
		}
		exidx_flow_free(&flow);
	}
}

/* If the code is cut anywhere, or any bit is flipped, fewer rows may result, but nothing
 * crashes. */
static void test_damaged(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t bit = 0; bit < cases[i].count * 32; bit++) {
			struct code_case damaged = cases[i];
			struct exidx_flow flow;

			damaged.code[bit / 32] ^= 1U << bit % 32;
			damaged.count -= bit % damaged.count;
			follow(&damaged, &flow);
			exidx_flow_free(&flow);
		}
}

static void test_sets(void **state)
{
	static const uint8_t thumb[] = {0x10, 0xb5, 0x98, 0x47, 0x10, 0xbd};
	static const uint8_t arm[] = {0x10, 0x40, 0x2d, 0xe9, 0x10, 0x80, 0xbd, 0xe8};

	(void)state;
	assert_true(exidx_flow_is_thumb(thumb, sizeof(thumb)));
	assert_false(exidx_flow_is_thumb(arm, sizeof(arm)));
	assert_true(exidx_flow_is_thumb(arm, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_sets),
	};

	return cmocka_run_group_tests_name("exidx_flow", tests, NULL, NULL);
}
