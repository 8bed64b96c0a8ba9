/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thumb code: 16-bit instructions, and 32-bit ones in two halfwords. Conditions come from IT blocks
 * (arm.c says what that means for a copy).
 */
#include "arch/arm_thumb.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool sets_flags(const struct arm_instruction *in)
{
	return !in->conditional;
}

/*
 * 16-bit instructions.
 */

static enum arch_step do_move_immediate(struct arm_instruction *in)
{
	uint32_t value = arm_bits(in, 0, 8);

	if (sets_flags(in))
		arm_set_flags(in->registers, value, in->registers->cpsr & ARM_CARRY);
	return arm_set(in, arm_bits(in, 8, 3), value);
}

static enum arch_step do_compare_immediate(struct arm_instruction *in)
{
	arm_add(in->registers, arm_get(in, arm_bits(in, 8, 3)), ~arm_bits(in, 0, 8), true, true);
	return arm_go_on(in);
}

static enum arch_step do_add_immediate(struct arm_instruction *in)
{
	unsigned int rd = arm_bits(in, 8, 3);
	bool subtracts = arm_bits(in, 11, 1);
	uint32_t value = arm_bits(in, 0, 8);

	return arm_set(in, rd,
		       arm_add(in->registers, arm_get(in, rd), subtracts ? ~value : value,
			       subtracts, sets_flags(in)));
}

/* Three registers, or two and a 3-bit immediate. */
static enum arch_step do_add_three(struct arm_instruction *in)
{
	bool subtracts = arm_bits(in, 9, 1), immediate = arm_bits(in, 10, 1);
	uint32_t value = arm_bits(in, 6, 3);

	if (!immediate)
		value = arm_get(in, value);
	return arm_set(in, arm_bits(in, 0, 3),
		       arm_add(in->registers, arm_get(in, arm_bits(in, 3, 3)),
			       subtracts ? ~value : value, subtracts, sets_flags(in)));
}

static enum arch_step do_compare(struct arm_instruction *in)
{
	arm_add(in->registers, arm_get(in, arm_bits(in, 0, 3)), ~arm_get(in, arm_bits(in, 3, 3)),
		true, true);
	return arm_go_on(in);
}

static enum arch_step do_test(struct arm_instruction *in)
{
	arm_set_flags(in->registers,
		      arm_get(in, arm_bits(in, 0, 3)) & arm_get(in, arm_bits(in, 3, 3)),
		      in->registers->cpsr & ARM_CARRY);
	return arm_go_on(in);
}

/* add, cmp and mov with any register. */
static unsigned int high_destination(const struct arm_instruction *in)
{
	return arm_bits(in, 0, 3) | arm_bits(in, 7, 1) << 3;
}

/* Writing the program counter stays in Thumb code. */
static enum arch_step high_set(struct arm_instruction *in, uint32_t value)
{
	unsigned int rd = high_destination(in);

	return rd == ARM_PC ? arm_branch(in, value) : arm_set(in, rd, value);
}

static enum arch_step do_add_high(struct arm_instruction *in)
{
	return high_set(in, arm_get(in, high_destination(in)) + arm_get(in, arm_bits(in, 3, 4)));
}

static enum arch_step do_compare_high(struct arm_instruction *in)
{
	arm_add(in->registers, arm_get(in, high_destination(in)), ~arm_get(in, arm_bits(in, 3, 4)),
		true, true);
	return arm_go_on(in);
}

static enum arch_step do_move_high(struct arm_instruction *in)
{
	return high_set(in, arm_get(in, arm_bits(in, 3, 4)));
}

static enum arch_step do_branch_exchange(struct arm_instruction *in)
{
	unsigned int rm = arm_bits(in, 3, 4);
	uint32_t pointer = rm == ARM_PC ? arm_aligned_pc(in) : arm_get(in, rm);

	if (arm_bits(in, 7, 1) && rm == ARM_PC)
		return ARCH_REFUSED;
	if (arm_bits(in, 7, 1))
		arm_link(in);
	return arm_interwork(in, pointer);
}

static enum arch_step load_literal(struct arm_instruction *in, unsigned int rt, uint32_t address)
{
	uint32_t value;

	if (arm_load(in, address, &value))
		return ARCH_REFUSED;
	return arm_set(in, rt, value);
}

static enum arch_step do_load_literal(struct arm_instruction *in)
{
	return load_literal(in, arm_bits(in, 8, 3), arm_aligned_pc(in) + 4 * arm_bits(in, 0, 8));
}

static enum arch_step transfer(struct arm_instruction *in, unsigned int rt, unsigned int rn,
			       uint32_t offset, bool bytes)
{
	uint32_t base = arm_get(in, rn);
	const struct arm_transfer transfer = {
		.rt = rt,
		.rn = rn,
		.address = base + offset,
		.base_after = base,
		.loads = arm_bits(in, 11, 1),
		.bytes = bytes,
	};

	return arm_transfer(in, &transfer);
}

static enum arch_step do_transfer_word(struct arm_instruction *in)
{
	return transfer(in, arm_bits(in, 0, 3), arm_bits(in, 3, 3), 4 * arm_bits(in, 6, 5), false);
}

static enum arch_step do_transfer_byte(struct arm_instruction *in)
{
	return transfer(in, arm_bits(in, 0, 3), arm_bits(in, 3, 3), arm_bits(in, 6, 5), true);
}

static enum arch_step do_transfer_stack(struct arm_instruction *in)
{
	return transfer(in, arm_bits(in, 8, 3), ARM_SP, 4 * arm_bits(in, 0, 8), false);
}

static enum arch_step do_address(struct arm_instruction *in)
{
	uint32_t base = arm_bits(in, 11, 1) ? arm_get(in, ARM_SP) : arm_aligned_pc(in);

	return arm_set(in, arm_bits(in, 8, 3), base + 4 * arm_bits(in, 0, 8));
}

static enum arch_step do_move_stack(struct arm_instruction *in)
{
	uint32_t offset = 4 * arm_bits(in, 0, 7);

	in->registers->r[ARM_SP] += arm_bits(in, 7, 1) ? 0 - offset : offset;
	return arm_go_on(in);
}

static enum arch_step stack_block(struct arm_instruction *in, uint32_t list, bool loads)
{
	uint32_t sp = in->registers->r[ARM_SP], size = arm_block_size(list);
	const struct arm_block block = {
		.rn = ARM_SP,
		.list = list,
		.start = loads ? sp : sp - size,
		.base_after = loads ? sp + size : sp - size,
		.loads = loads,
		.writes_back = true,
	};

	return arm_transfer_block(in, &block);
}

static enum arch_step do_push(struct arm_instruction *in)
{
	return stack_block(in, arm_bits(in, 0, 8) | arm_bits(in, 8, 1) << ARM_LR, false);
}

static enum arch_step do_pop(struct arm_instruction *in)
{
	return stack_block(in, arm_bits(in, 0, 8) | arm_bits(in, 8, 1) << ARM_PC, true);
}

/* cbz, cbnz */
static enum arch_step do_compare_branch(struct arm_instruction *in)
{
	uint32_t distance = arm_bits(in, 3, 5) << 1 | arm_bits(in, 9, 1) << 6;
	bool is_zero = !arm_get(in, arm_bits(in, 0, 3));

	if (is_zero == arm_bits(in, 11, 1))
		return arm_go_on(in);
	return arm_branch(in, arm_get(in, ARM_PC) + distance);
}

/* Starts an IT block, or is a hint. */
static enum arch_step do_if_then(struct arm_instruction *in)
{
	if (arm_bits(in, 0, 4))
		in->registers->cpsr = arm_it_set(in->registers->cpsr, arm_bits(in, 0, 8));
	return arm_go_on(in);
}

static enum arch_step branch_if(struct arm_instruction *in, unsigned int condition,
				int32_t distance)
{
	if (!arm_condition_holds(in->registers->cpsr, condition))
		return arm_go_on(in);
	return arm_branch(in, arm_get(in, ARM_PC) + (uint32_t)distance);
}

static enum arch_step do_branch_if(struct arm_instruction *in)
{
	return branch_if(in, arm_bits(in, 8, 4), arm_signed(arm_bits(in, 0, 8), 8) * 2);
}

static enum arch_step do_branch(struct arm_instruction *in)
{
	return branch_if(in, ARM_CONDITION_ALWAYS, arm_signed(arm_bits(in, 0, 11), 11) * 2);
}

static const struct arm_row short_rows[] = {
	{0xfc00, 0x1800, do_add_three},
	{0xfc00, 0x1c00, do_add_three},
	{0xe000, 0x0000, arm_line}, /* shifts */
	{0xf800, 0x2000, do_move_immediate},
	{0xf800, 0x2800, do_compare_immediate},
	{0xf000, 0x3000, do_add_immediate},
	{0xffc0, 0x4200, do_test},
	{0xffc0, 0x4280, do_compare},
	{0xfc00, 0x4000, arm_line},
	{0xff00, 0x4400, do_add_high},
	{0xff00, 0x4500, do_compare_high},
	{0xff00, 0x4600, do_move_high},
	{0xff07, 0x4700, do_branch_exchange},
	{0xf800, 0x4800, do_load_literal},
	{0xf000, 0x5000, arm_line}, /* register offset */
	{0xf000, 0x6000, do_transfer_word},
	{0xf000, 0x7000, do_transfer_byte},
	{0xf000, 0x8000, arm_line}, /* halfwords */
	{0xf000, 0x9000, do_transfer_stack},
	{0xf000, 0xa000, do_address},
	{0xff00, 0xb000, do_move_stack},
	{0xf500, 0xb100, do_compare_branch},
	{0xff00, 0xb200, arm_line}, /* sign and zero extension */
	{0xfe00, 0xb400, do_push},
	{0xffc0, 0xba80, arm_refuse}, /* breakpoints: hlt */
	{0xff00, 0xba00, arm_line},   /* byte reversal */
	{0xfe00, 0xbc00, do_pop},
	{0xff00, 0xbf00, do_if_then},
	{0xf000, 0xc000, arm_line},   /* several words */
	{0xfe00, 0xde00, arm_refuse}, /* permanently undefined; system calls */
	{0xf000, 0xd000, do_branch_if},
	{0xf800, 0xe000, do_branch},
};

/*
 * 32-bit instructions: the first halfword is the upper one.
 */

#define RN(in) arm_bits(in, 16, 4)
#define RT(in) arm_bits(in, 12, 4)

static enum arch_step do_block_down(struct arm_instruction *in)
{
	uint32_t list = arm_bits(in, 0, 16), size = arm_block_size(list);
	uint32_t base = arm_get(in, RN(in));
	const struct arm_block block = {
		.rn = RN(in),
		.list = list,
		.start = base - size,
		.base_after = base - size,
		.loads = arm_bits(in, 20, 1),
		.writes_back = arm_bits(in, 21, 1),
	};

	return arm_transfer_block(in, &block);
}

static enum arch_step do_block_up(struct arm_instruction *in)
{
	uint32_t list = arm_bits(in, 0, 16), base = arm_get(in, RN(in));
	const struct arm_block block = {
		.rn = RN(in),
		.list = list,
		.start = base,
		.base_after = base + arm_block_size(list),
		.loads = arm_bits(in, 20, 1),
		.writes_back = arm_bits(in, 21, 1),
	};

	return arm_transfer_block(in, &block);
}

/* Pairs and vectors; refused if relative to the program counter. */
static enum arch_step do_unless_relative(struct arm_instruction *in)
{
	return RN(in) == ARM_PC ? ARCH_REFUSED : ARCH_OUT_OF_LINE;
}

static uint32_t wide_immediate(const struct arm_instruction *in)
{
	return arm_bits(in, 26, 1) << 11 | arm_bits(in, 12, 3) << 8 | arm_bits(in, 0, 8);
}

static enum arch_step do_move_wide(struct arm_instruction *in)
{
	uint32_t value = RN(in) << 12 | wide_immediate(in);
	unsigned int rd = arm_bits(in, 8, 4);

	if (rd == ARM_PC)
		return ARCH_REFUSED;
	if (arm_bits(in, 23, 1))
		value = value << 16 | (in->registers->r[rd] & 0xffff);
	return arm_set(in, rd, value);
}

static enum arch_step do_address_wide(struct arm_instruction *in)
{
	uint32_t distance = wide_immediate(in);
	unsigned int rd = arm_bits(in, 8, 4);

	if (rd == ARM_PC)
		return ARCH_REFUSED;
	return arm_set(in, rd,
		       arm_aligned_pc(in) + (arm_bits(in, 23, 1) ? 0 - distance : distance));
}

/* The target of a 24-bit branch. The two bits below the sign are stored inverted if the sign is
 * clear. */
static uint32_t far_target(const struct arm_instruction *in, uint32_t base)
{
	uint32_t sign = arm_bits(in, 26, 1);
	uint32_t second = !(arm_bits(in, 13, 1) ^ sign), third = !(arm_bits(in, 11, 1) ^ sign);
	uint32_t distance = sign << 24 | second << 23 | third << 22 | arm_bits(in, 16, 10) << 12 |
			    arm_bits(in, 0, 11) << 1;

	return base + (uint32_t)arm_signed(distance, 25);
}

static enum arch_step do_branch_wide(struct arm_instruction *in)
{
	return arm_branch(in, far_target(in, arm_get(in, ARM_PC)));
}

static enum arch_step do_call(struct arm_instruction *in)
{
	uint32_t target = far_target(in, arm_get(in, ARM_PC));

	arm_link(in);
	return arm_branch(in, target);
}

/* Calls ARM code. */
static enum arch_step do_call_exchange(struct arm_instruction *in)
{
	uint32_t target = far_target(in, arm_aligned_pc(in));

	arm_link(in);
	return arm_interwork(in, target & ~3u);
}

static enum arch_step do_branch_wide_if(struct arm_instruction *in)
{
	uint32_t distance = arm_bits(in, 26, 1) << 20 | arm_bits(in, 11, 1) << 19 |
			    arm_bits(in, 13, 1) << 18 | arm_bits(in, 16, 6) << 12 |
			    arm_bits(in, 0, 11) << 1;

	return branch_if(in, arm_bits(in, 22, 4), arm_signed(distance, 21));
}

static enum arch_step do_load_literal_wide(struct arm_instruction *in)
{
	uint32_t offset = arm_bits(in, 0, 12);

	return load_literal(in, RT(in),
			    arm_aligned_pc(in) + (arm_bits(in, 23, 1) ? offset : 0 - offset));
}

static enum arch_step transfer_wide(struct arm_instruction *in, bool before, bool writes_back,
				    uint32_t offset)
{
	uint32_t base = arm_get(in, RN(in));
	const struct arm_transfer transfer = {
		.rt = RT(in),
		.rn = RN(in),
		.address = before ? base + offset : base,
		.base_after = writes_back ? base + offset : base,
		.loads = arm_bits(in, 20, 1),
	};

	if (RN(in) == ARM_PC || (writes_back && RN(in) == RT(in)))
		return ARCH_REFUSED;
	return arm_transfer(in, &transfer);
}

static enum arch_step do_transfer_up(struct arm_instruction *in)
{
	return transfer_wide(in, true, false, arm_bits(in, 0, 12));
}

static enum arch_step do_transfer_around(struct arm_instruction *in)
{
	uint32_t offset = arm_bits(in, 0, 8);

	return transfer_wide(in, arm_bits(in, 10, 1), arm_bits(in, 8, 1),
			     arm_bits(in, 9, 1) ? offset : 0 - offset);
}

/* The offset is in a register. */
static enum arch_step do_transfer_indexed(struct arm_instruction *in)
{
	return RN(in) == ARM_PC || RT(in) == ARM_PC ? ARCH_REFUSED : ARCH_OUT_OF_LINE;
}

static const struct arm_row long_rows[] = {
	{0xffd00000, 0xe9000000, do_block_down},
	{0xffd00000, 0xe9100000, do_block_down},
	{0xffd00000, 0xe8800000, do_block_up},
	{0xffd00000, 0xe8900000, do_block_up},
	{0xffe00000, 0xe8400000, arm_refuse}, /* exclusive accesses: must not be interrupted; */
	{0xffe00000, 0xe8c00000, arm_refuse}, /* and table jumps */
	{0xfe400000, 0xe8400000, do_unless_relative},
	{0xfe400000, 0xe8000000, arm_refuse}, /* exception state */
	{0xfe000000, 0xea000000, arm_line},
	{0xee000000, 0xec000000, do_unless_relative},
	{0xef000000, 0xee000000, arm_line},
	{0xef000000, 0xef000000, arm_line},
	{0xfb708000, 0xf2400000, do_move_wide},
	{0xfbff8000, 0xf20f0000, do_address_wide},
	{0xfbff8000, 0xf2af0000, do_address_wide},
	{0xf8008000, 0xf0000000, arm_line},
	{0xf800d000, 0xf000d000, do_call},
	{0xf800d001, 0xf000c000, do_call_exchange},
	{0xf800d000, 0xf0009000, do_branch_wide},
	{0xffffff00, 0xf3af8000, arm_nothing}, /* hints */
	{0xfffff800, 0xf3af8000, arm_refuse},
	{0xfff0ff00, 0xf3b08f00, arm_line}, /* barriers */
	{0xffe0f0ff, 0xf3e08000, arm_line}, /* reads the status */
	{0xffe0d000, 0xf3808000, arm_line}, /* writes it */
	{0xfb80d000, 0xf3808000, arm_refuse},
	{0xf800d000, 0xf0008000, do_branch_wide_if},
	{0xff7f0000, 0xf85f0000, do_load_literal_wide},
	{0xffe00000, 0xf8c00000, do_transfer_up},
	{0xfff00800, 0xf8400800, do_transfer_around},
	{0xfff00800, 0xf8500800, do_transfer_around},
	{0xffe00fc0, 0xf8400000, do_transfer_indexed},
	{0xfe000000, 0xf8000000, do_unless_relative},
	{0xfe000000, 0xfa000000, arm_line},
};

/* Executes conditionally, and advances ITSTATE in any case. */
static enum arch_step emulate_in_block(struct arm_instruction *in, uint32_t it, bool asks)
{
	enum arch_step step = ARCH_DONE;

	in->conditional = true;
	if (asks || arm_condition_holds(in->registers->cpsr, it >> 4))
		step = in->size == 2 ? arm_dispatch(in, short_rows, COUNT(short_rows))
				     : arm_dispatch(in, long_rows, COUNT(long_rows));
	else
		arm_go_on(in);
	if (!step)
		in->registers->cpsr = arm_it_set(in->registers->cpsr, arm_it_next(it));
	return step;
}

enum arch_step arm_thumb_emulate(struct arm_instruction *in, bool asks)
{
	uint32_t it = arm_it_get(in->registers->cpsr);

	if (it)
		return emulate_in_block(in, it, asks);
	return in->size == 2 ? arm_dispatch(in, short_rows, COUNT(short_rows))
			     : arm_dispatch(in, long_rows, COUNT(long_rows));
}
