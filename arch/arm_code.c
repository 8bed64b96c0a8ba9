/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ARM code: 32-bit instructions, each with a condition. */
#include "arch/arm_code.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define RN(in) arm_bits(in, 16, 4)
#define RD(in) arm_bits(in, 12, 4)
#define RS(in) arm_bits(in, 8, 4)
#define RM(in) arm_bits(in, 0, 4)

#define CONDITION_NONE 15 /* a separate set of unconditional instructions */

/*
 * Operands.
 */

struct operand {
	uint32_t value;
	bool carry; /* carry out of the shift */
};

static struct operand rotated_immediate(const struct arm_instruction *in)
{
	uint32_t value = arm_bits(in, 0, 8), turns = 2 * arm_bits(in, 8, 4);
	bool carry = in->registers->cpsr & ARM_CARRY;

	if (turns) {
		value = value >> turns | value << (32 - turns);
		carry = value >> 31;
	}
	return (struct operand){value, carry};
}

enum shift { SHIFT_LEFT, SHIFT_RIGHT, SHIFT_SIGNED, SHIFT_ROTATE };

/* Shifts by 1 to 32; the encoding of 0 has a special meaning. */
static struct operand shifted_register(const struct arm_instruction *in)
{
	uint32_t value = arm_get(in, RM(in)), by = arm_bits(in, 7, 5);
	bool carry = in->registers->cpsr & ARM_CARRY;

	switch ((enum shift)arm_bits(in, 5, 2)) {
	case SHIFT_LEFT:
		return by ? (struct operand){value << by, value >> (32 - by) & 1}
			  : (struct operand){value, carry};
	case SHIFT_RIGHT:
		return by ? (struct operand){value >> by, value >> (by - 1) & 1}
			  : (struct operand){0, value >> 31};
	case SHIFT_SIGNED:
		by = by ? by : 32;
		return (struct operand){(uint32_t)((int64_t)(int32_t)value >> by),
					(int64_t)(int32_t)value >> (by - 1) & 1};
	case SHIFT_ROTATE:
		break;
	}
	if (!by)
		return (struct operand){value >> 1 | (uint32_t)carry << 31, value & 1};
	value = value >> by | value << (32 - by);
	return (struct operand){value, value >> 31};
}

/*
 * Instructions.
 */

enum operation {
	OP_AND,
	OP_EOR,
	OP_SUB,
	OP_RSB,
	OP_ADD,
	OP_ADC,
	OP_SBC,
	OP_RSC,
	OP_TST,
	OP_TEQ,
	OP_CMP,
	OP_CMN,
	OP_ORR,
	OP_MOV,
	OP_BIC,
	OP_MVN,
};

static uint32_t combine(enum operation operation, uint32_t left, uint32_t right)
{
	switch (operation) {
	case OP_AND:
	case OP_TST:
		return left & right;
	case OP_EOR:
	case OP_TEQ:
		return left ^ right;
	case OP_ORR:
		return left | right;
	case OP_BIC:
		return left & ~right;
	case OP_MVN:
		return ~right;
	default:
		return right;
	}
}

/* The arithmetic operations, each as one addition. */
static const struct sum {
	bool known, inverts_left, inverts_right, carry, takes_carry;
} sums[16] = {
	[OP_SUB] = {true, false, true, true, false},
	[OP_CMP] = {true, false, true, true, false},
	[OP_RSB] = {true, true, false, true, false},
	[OP_ADD] = {.known = true},
	[OP_CMN] = {.known = true},
	[OP_ADC] = {true, false, false, false, true},
	[OP_SBC] = {true, false, true, false, true},
	[OP_RSC] = {true, true, false, false, true},
};

static uint32_t operate(struct arm_instruction *in, enum operation operation,
			struct operand operand, bool sets_flags)
{
	const struct sum *sum = &sums[operation];
	uint32_t left = arm_get(in, RN(in)), result;
	bool carry = sum->takes_carry ? in->registers->cpsr & ARM_CARRY : sum->carry;

	if (sum->known)
		return arm_add(in->registers, sum->inverts_left ? ~left : left,
			       sum->inverts_right ? ~operand.value : operand.value, carry,
			       sets_flags);
	result = combine(operation, left, operand.value);
	if (sets_flags)
		arm_set_flags(in->registers, result, operand.carry);
	return result;
}

static enum arch_step process(struct arm_instruction *in, struct operand operand)
{
	enum operation operation = arm_bits(in, 21, 4);
	bool sets_flags = arm_bits(in, 20, 1);
	bool only_flags = operation >= OP_TST && operation <= OP_CMN;
	uint32_t result;

	if (sets_flags && RD(in) == ARM_PC)
		return ARCH_REFUSED; /* an exception return, or obsolete */
	result = operate(in, operation, operand, sets_flags);
	return only_flags ? arm_go_on(in) : arm_set(in, RD(in), result);
}

static enum arch_step do_process_immediate(struct arm_instruction *in)
{
	return process(in, rotated_immediate(in));
}

static enum arch_step do_process(struct arm_instruction *in)
{
	return process(in, shifted_register(in));
}

/* The shift amount is in a register. */
static enum arch_step do_process_shifted(struct arm_instruction *in)
{
	bool reads_pc =
		RN(in) == ARM_PC || RD(in) == ARM_PC || RS(in) == ARM_PC || RM(in) == ARM_PC;

	return reads_pc ? ARCH_REFUSED : ARCH_OUT_OF_LINE;
}

static enum arch_step do_move_wide(struct arm_instruction *in)
{
	uint32_t value = RN(in) << 12 | arm_bits(in, 0, 12);

	if (RD(in) == ARM_PC)
		return ARCH_REFUSED;
	if (arm_bits(in, 22, 1))
		value = value << 16 | (in->registers->r[RD(in)] & 0xffff);
	return arm_set(in, RD(in), value);
}

static enum arch_step transfer(struct arm_instruction *in, uint32_t offset)
{
	bool before = arm_bits(in, 24, 1), writes_back = !before || arm_bits(in, 21, 1);
	uint32_t base = arm_get(in, RN(in));
	uint32_t moved = arm_bits(in, 23, 1) ? base + offset : base - offset;
	const struct arm_transfer transfer = {
		.rt = RD(in),
		.rn = RN(in),
		.address = before ? moved : base,
		.base_after = writes_back ? moved : base,
		.loads = arm_bits(in, 20, 1),
		.bytes = arm_bits(in, 22, 1),
	};

	if (writes_back && (RN(in) == ARM_PC || RN(in) == RD(in)))
		return ARCH_REFUSED;
	return arm_transfer(in, &transfer);
}

static enum arch_step do_transfer_immediate(struct arm_instruction *in)
{
	return transfer(in, arm_bits(in, 0, 12));
}

static enum arch_step do_transfer(struct arm_instruction *in)
{
	return RM(in) == ARM_PC ? ARCH_REFUSED : transfer(in, shifted_register(in).value);
}

/* Halfwords, pairs, and signed bytes. */
static enum arch_step do_transfer_other(struct arm_instruction *in)
{
	bool immediate = arm_bits(in, 22, 1);
	bool uses_pc = RN(in) == ARM_PC || RD(in) == ARM_PC || (!immediate && RM(in) == ARM_PC);

	return uses_pc ? ARCH_REFUSED : ARCH_OUT_OF_LINE;
}

static enum arch_step do_block(struct arm_instruction *in)
{
	uint32_t list = arm_bits(in, 0, 16), size = arm_block_size(list);
	uint32_t base = arm_get(in, RN(in));
	bool before = arm_bits(in, 24, 1), up = arm_bits(in, 23, 1);
	const struct arm_block block = {
		.rn = RN(in),
		.list = list,
		.start = (up ? base : base - size) + (before == up ? 4 : 0),
		.base_after = up ? base + size : base - size,
		.loads = arm_bits(in, 20, 1),
		.writes_back = arm_bits(in, 21, 1),
	};

	if (arm_bits(in, 22, 1))
		return ARCH_REFUSED; /* registers of another processor mode */
	return arm_transfer_block(in, &block);
}

static enum arch_step do_branch(struct arm_instruction *in)
{
	int32_t distance = arm_signed(arm_bits(in, 0, 24), 24) * 4;
	uint32_t target = arm_get(in, ARM_PC) + (uint32_t)distance;

	if (arm_bits(in, 24, 1))
		arm_link(in);
	return arm_branch(in, target);
}

static enum arch_step do_branch_exchange(struct arm_instruction *in)
{
	uint32_t pointer = arm_get(in, RM(in));

	if (arm_bits(in, 5, 1) && RM(in) == ARM_PC)
		return ARCH_REFUSED;
	if (arm_bits(in, 5, 1))
		arm_link(in);
	return arm_interwork(in, pointer);
}

/* Calls Thumb code; unconditional. */
static enum arch_step do_call_exchange(struct arm_instruction *in)
{
	int32_t distance = arm_signed(arm_bits(in, 0, 24), 24) * 4;
	uint32_t half = arm_bits(in, 24, 1) << 1;
	uint32_t target = arm_get(in, ARM_PC) + (uint32_t)distance + half;

	arm_link(in);
	return arm_interwork(in, target | 1);
}

static enum arch_step do_coprocessor_transfer(struct arm_instruction *in)
{
	return RN(in) == ARM_PC || RD(in) == ARM_PC ? ARCH_REFUSED : ARCH_OUT_OF_LINE;
}

static const struct arm_row rows[] = {
	{0x0ffffff0, 0x012fff10, do_branch_exchange},
	{0x0ffffff0, 0x012fff30, do_branch_exchange},
	{0x0ffffff0, 0x012fff20, arm_refuse}, /* to Java bytecode */
	{0x0f9000f0, 0x01000070, arm_refuse}, /* breakpoints, hypervisor and monitor calls */
	{0x0f9000f0, 0x01000060, arm_refuse},
	{0x0f900090, 0x01000000, arm_line}, /* status registers, clz, saturated sums */
	{0x0f900090, 0x01000010, arm_line},
	{0x0f900090, 0x01000080, arm_line},   /* halfword products */
	{0x0f0000f0, 0x00000090, arm_line},   /* products */
	{0x0f0000f0, 0x01000090, arm_refuse}, /* exclusive accesses: must not be interrupted */
	{0x0e000090, 0x00000090, do_transfer_other},
	{0x0e000010, 0x00000000, do_process},
	{0x0e000090, 0x00000010, do_process_shifted},
	{0x0ff00000, 0x03000000, do_move_wide},
	{0x0ff00000, 0x03400000, do_move_wide},
	{0x0fffff00, 0x0320f000, arm_nothing}, /* hints */
	{0x0fb00000, 0x03200000, arm_refuse},
	{0x0e000000, 0x02000000, do_process_immediate},
	{0x0e000000, 0x04000000, do_transfer_immediate},
	{0x0e000010, 0x06000000, do_transfer},
	{0x0ff000f0, 0x07f000f0, arm_refuse}, /* permanently undefined */
	{0x0e000010, 0x06000010, arm_line},   /* media */
	{0x0e000000, 0x08000000, do_block},
	{0x0e000000, 0x0a000000, do_branch},
	{0x0e000000, 0x0c000000, do_coprocessor_transfer},
	{0x0f000000, 0x0e000000, arm_line},
};

static const struct arm_row unconditional_rows[] = {
	{0xfe000000, 0xfa000000, do_call_exchange},
	{0xff30f000, 0xf510f000, arm_nothing}, /* prefetch */
	{0xff30f010, 0xf710f000, arm_nothing},
	{0xfff00000, 0xf5700000, arm_line}, /* barriers */
	{0xfe000000, 0xf2000000, arm_line}, /* vectors */
};

enum arch_step arm_code_emulate(struct arm_instruction *in, bool asks)
{
	unsigned int condition = in->word >> 28;

	if (condition == CONDITION_NONE)
		return arm_dispatch(in, unconditional_rows, COUNT(unconditional_rows));
	if (!asks && !arm_condition_holds(in->registers->cpsr, condition))
		return arm_go_on(in);
	return arm_dispatch(in, rows, COUNT(rows));
}
