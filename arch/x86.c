/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/x86.h"

#include <string.h>

#include "arch/x86_instruction.h"

#define FLAG_CARRY    0x1u
#define FLAG_PARITY   0x4u
#define FLAG_ADJUST   0x10u
#define FLAG_ZERO     0x40u
#define FLAG_SIGN     0x80u
#define FLAG_OVERFLOW 0x800u
#define FLAGS_RESULT \
	((uint64_t)(FLAG_CARRY | FLAG_PARITY | FLAG_ADJUST | FLAG_ZERO | FLAG_SIGN | FLAG_OVERFLOW))

typedef enum arch_step handler(struct x86_instruction *instruction);

static enum arch_step go_on(struct x86_instruction *in)
{
	in->registers->ip = x86_pointer(in, in->registers->ip + in->at);
	return ARCH_DONE;
}

static enum arch_step jump(struct x86_instruction *in, uint64_t target)
{
	in->registers->ip = x86_pointer(in, target);
	return ARCH_DONE;
}

static enum arch_step push(struct x86_instruction *in, uint64_t value)
{
	uint64_t sp = x86_pointer(in, in->registers->sp - x86_word_of(in));

	if (x86_memory_set(in, sp, x86_word_of(in), value))
		return ARCH_FAULT;
	in->registers->sp = sp;
	return ARCH_DONE;
}

static int pop(struct x86_instruction *in, uint64_t *ret_value)
{
	if (x86_memory_get(in, in->registers->sp, x86_word_of(in), ret_value))
		return -1;
	in->registers->sp = x86_pointer(in, in->registers->sp + x86_word_of(in));
	return 0;
}

/*
 * Flags.
 */

static bool is_negative(uint64_t value, size_t size)
{
	return value >> (8 * size - 1) & 1;
}

static uint64_t flags_of(uint64_t result, size_t size)
{
	bool even = !__builtin_parity((unsigned int)(result & 0xff));

	return (even ? FLAG_PARITY : 0) | (result ? 0 : FLAG_ZERO) |
	       (is_negative(result, size) ? FLAG_SIGN : 0);
}

static void flags_set(const struct x86_instruction *in, uint64_t flags)
{
	in->registers->flags = (in->registers->flags & ~FLAGS_RESULT) | flags;
}

/* The eight operations that share one encoding. */
enum operation { OP_ADD, OP_OR, OP_ADC, OP_SBB, OP_AND, OP_SUB, OP_XOR, OP_CMP };

static uint64_t carry_flags(uint64_t left, uint64_t right, uint64_t result, size_t size,
			    bool subtracts)
{
	uint64_t overflow =
		subtracts ? (left ^ right) & (left ^ result) : (left ^ result) & (right ^ result);
	bool carry = subtracts ? left < right : result < left;

	return (carry ? FLAG_CARRY : 0) | ((left ^ right ^ result) & FLAG_ADJUST) |
	       (is_negative(overflow, size) ? FLAG_OVERFLOW : 0);
}

static uint64_t operate(const struct x86_instruction *in, enum operation operation, uint64_t left,
			uint64_t right)
{
	uint64_t mask = in->size == 4 ? UINT32_MAX : UINT64_MAX, result, flags = 0;
	bool subtracts = operation == OP_SUB || operation == OP_CMP;

	left &= mask;
	right &= mask;
	switch (operation) {
	case OP_ADD:
		result = (left + right) & mask;
		break;
	case OP_OR:
		result = left | right;
		break;
	case OP_AND:
		result = left & right;
		break;
	case OP_XOR:
		result = left ^ right;
		break;
	default:
		result = (left - right) & mask;
	}
	if (subtracts || operation == OP_ADD)
		flags = carry_flags(left, right, result, in->size, subtracts);
	flags_set(in, flags | flags_of(result, in->size));
	return result;
}

static bool is_known_operation(enum operation operation)
{
	return operation != OP_ADC && operation != OP_SBB;
}

/* The processor's condition codes: overflow, carry, zero, carry or zero, sign, parity, less, less
 * or equal; odd numbers negate them. */
static bool condition_holds(uint64_t flags, uint8_t opcode)
{
	bool sign = flags & FLAG_SIGN, overflow = flags & FLAG_OVERFLOW;
	const bool conditions[8] = {
		overflow,
		flags & FLAG_CARRY,
		flags & FLAG_ZERO,
		flags & (FLAG_CARRY | FLAG_ZERO),
		sign,
		flags & FLAG_PARITY,
		sign != overflow,
		flags & FLAG_ZERO || sign != overflow,
	};

	return conditions[opcode >> 1 & 7] != (opcode & 1);
}

/* One-byte opcodes. */

/* op r/m, r and op r, r/m */
static enum arch_step do_operation(struct x86_instruction *in)
{
	enum operation operation = in->opcode >> 3 & 7;
	bool to_register = in->opcode & 2;
	uint64_t other, result;

	if (!is_known_operation(operation))
		return ARCH_OUT_OF_LINE;
	x86_read_operands(in);
	if (x86_operand_get(in, &other))
		return ARCH_FAULT;
	if (in->mod != 3 && !to_register && operation != OP_CMP)
		return ARCH_OUT_OF_LINE; /* not known in advance whether it is writable */
	if (to_register) {
		result = operate(in, operation, x86_register_get(in, in->reg), other);
		if (operation != OP_CMP)
			x86_register_set(in, in->reg, result);
	} else {
		result = operate(in, operation, other, x86_register_get(in, in->reg));
		if (operation != OP_CMP)
			x86_register_set(in, in->rm, result);
	}
	return go_on(in);
}

/* op r/m, immediate */
static enum arch_step do_operation_immediate(struct x86_instruction *in)
{
	enum operation operation;
	uint64_t left, right, result;

	x86_read_operands(in);
	operation = in->reg & 7;
	right = (uint64_t)x86_next_signed(in, in->opcode == 0x83 ? 1 : 4);
	if (!is_known_operation(operation) || (in->mod != 3 && operation != OP_CMP))
		return ARCH_OUT_OF_LINE;
	if (x86_operand_get(in, &left))
		return ARCH_FAULT;
	result = operate(in, operation, left, right);
	if (operation != OP_CMP)
		x86_register_set(in, in->rm, result);
	return go_on(in);
}

static enum arch_step do_test(struct x86_instruction *in)
{
	uint64_t other;

	x86_read_operands(in);
	if (x86_operand_get(in, &other))
		return ARCH_FAULT;
	operate(in, OP_AND, other, x86_register_get(in, in->reg));
	return go_on(in);
}

static enum arch_step do_push(struct x86_instruction *in)
{
	unsigned int number = (in->opcode & 7) | (in->rex & X86_REX_B ? 8 : 0);
	enum arch_step step = push(in, x86_register_get(in, number));

	return step ? step : go_on(in);
}

static enum arch_step do_pop(struct x86_instruction *in)
{
	unsigned int number = (in->opcode & 7) | (in->rex & X86_REX_B ? 8 : 0);
	uint64_t value;

	if (pop(in, &value))
		return ARCH_FAULT;
	*x86_register_at(in->registers, number) = value;
	return go_on(in);
}

static enum arch_step do_push_immediate(struct x86_instruction *in)
{
	int64_t value = x86_next_signed(in, in->opcode == 0x6a ? 1 : 4);
	enum arch_step step = push(in, (uint64_t)value);

	return step ? step : go_on(in);
}

static enum arch_step do_widen_index(struct x86_instruction *in)
{
	uint64_t value;

	if (in->is_32bit)
		return ARCH_OUT_OF_LINE; /* another instruction */
	x86_read_operands(in);
	if (in->mod != 3 || in->size != 8)
		return ARCH_OUT_OF_LINE;
	value = x86_register_get(in, in->rm);
	x86_register_set(in, in->reg, (uint64_t)(int64_t)(int32_t)value);
	return go_on(in);
}

static enum arch_step do_branch(struct x86_instruction *in)
{
	int64_t distance = x86_next_signed(in, 1);
	enum arch_step step = go_on(in);

	if (condition_holds(in->registers->flags, in->opcode))
		step = jump(in, in->registers->ip + (uint64_t)distance);
	return step;
}

static enum arch_step do_move(struct x86_instruction *in)
{
	uint64_t value;

	x86_read_operands(in);
	if (in->opcode == 0x89) {
		value = x86_register_get(in, in->reg);
		return x86_operand_set(in, value) ? ARCH_FAULT : go_on(in);
	}
	if (x86_operand_get(in, &value))
		return ARCH_FAULT;
	x86_register_set(in, in->reg, value);
	return go_on(in);
}

static enum arch_step do_address(struct x86_instruction *in)
{
	x86_read_operands(in);
	if (in->mod == 3 || in->thread)
		return ARCH_OUT_OF_LINE;
	x86_register_set(in, in->reg, x86_operand_address(in));
	return go_on(in);
}

static enum arch_step do_nothing(struct x86_instruction *in)
{
	if (in->rex & X86_REX_B)
		return ARCH_OUT_OF_LINE; /* exchanges with r8 */
	return go_on(in);
}

static enum arch_step do_widen(struct x86_instruction *in)
{
	uint64_t ax = in->registers->ax;

	if (in->size == 8)
		in->registers->ax = (uint64_t)(int64_t)(int32_t)ax;
	else
		in->registers->ax = (uint32_t)(int32_t)(int16_t)ax;
	return go_on(in);
}

static enum arch_step do_move_immediate(struct x86_instruction *in)
{
	unsigned int number = (in->opcode & 7) | (in->rex & X86_REX_B ? 8 : 0);

	x86_register_set(in, number, (uint64_t)x86_next_signed(in, in->size));
	return go_on(in);
}

static enum arch_step do_store_immediate(struct x86_instruction *in)
{
	int64_t value;

	x86_read_operands(in);
	if (in->reg & 7)
		return ARCH_REFUSED; /* starts a transaction (xbegin) */
	value = x86_next_signed(in, 4);
	return x86_operand_set(in, (uint64_t)value) ? ARCH_FAULT : go_on(in);
}

static enum arch_step do_return(struct x86_instruction *in)
{
	uint64_t released = in->opcode == 0xc2 ? (uint64_t)x86_next_byte(in) : 0, target;

	if (in->opcode == 0xc2)
		released |= (uint64_t)x86_next_byte(in) << 8;
	if (pop(in, &target))
		return ARCH_FAULT;
	in->registers->sp = x86_pointer(in, in->registers->sp + released);
	return jump(in, target);
}

static enum arch_step do_leave(struct x86_instruction *in)
{
	uint64_t bp = in->registers->bp, value;

	if (x86_memory_get(in, bp, x86_word_of(in), &value))
		return ARCH_FAULT;
	in->registers->sp = x86_pointer(in, bp + x86_word_of(in));
	in->registers->bp = value;
	return go_on(in);
}

static enum arch_step do_call(struct x86_instruction *in)
{
	uint64_t distance = (uint64_t)x86_next_signed(in, 4), next = in->registers->ip + in->at;
	enum arch_step step = push(in, x86_pointer(in, next));

	return step ? step : jump(in, next + distance);
}

static enum arch_step do_jump(struct x86_instruction *in)
{
	int64_t distance = x86_next_signed(in, in->opcode == 0xeb ? 1 : 4);

	return jump(in, in->registers->ip + in->at + (uint64_t)distance);
}

enum indirect { INDIRECT_CALL = 2, INDIRECT_JUMP = 4, INDIRECT_PUSH = 6 };

static enum arch_step do_indirect(struct x86_instruction *in)
{
	enum arch_step step = ARCH_DONE;
	uint64_t value, next;

	x86_read_operands(in);
	in->size = x86_word_of(in);
	if ((in->reg & 7) < INDIRECT_CALL)
		return ARCH_OUT_OF_LINE; /* inc, dec */
	if ((in->reg & 7) & 1)
		return ARCH_REFUSED; /* far calls and jumps */
	if (x86_operand_get(in, &value))
		return ARCH_FAULT;
	next = in->registers->ip + in->at;
	if ((in->reg & 7) != INDIRECT_JUMP)
		step = push(in, (in->reg & 7) == INDIRECT_CALL ? x86_pointer(in, next) : value);
	if (step)
		return step;
	return (in->reg & 7) == INDIRECT_PUSH ? go_on(in) : jump(in, value);
}

static enum arch_step do_refuse(struct x86_instruction *in)
{
	(void)in;
	return ARCH_REFUSED;
}

/*
 * Two-byte opcodes, after 0f.
 */

static enum arch_step do_long_branch(struct x86_instruction *in)
{
	int64_t distance = x86_next_signed(in, 4);
	enum arch_step step = go_on(in);

	if (condition_holds(in->registers->flags, in->opcode))
		step = jump(in, in->registers->ip + (uint64_t)distance);
	return step;
}

static enum arch_step do_long_nothing(struct x86_instruction *in)
{
	x86_read_operands(in);
	return go_on(in);
}

/* endbr64 and endbr32. Other opcodes of this group access shadow stacks. */
static enum arch_step do_mark(struct x86_instruction *in)
{
	uint8_t operands = in->code[in->at < ARCH_CODE_MAX ? in->at : 0];

	if (!in->repeat || (operands != 0xfa && operands != 0xfb))
		return ARCH_OUT_OF_LINE;
	in->at++;
	return go_on(in);
}

static enum arch_step do_move_if(struct x86_instruction *in)
{
	uint64_t value;

	x86_read_operands(in);
	if (x86_operand_get(in, &value))
		return ARCH_FAULT;
	if (!condition_holds(in->registers->flags, in->opcode))
		value = x86_register_get(in, in->reg);
	x86_register_set(in, in->reg, value);
	return go_on(in);
}

/* Bytes and words from memory only: byte registers may be upper halves (ah). */
static enum arch_step do_move_widened(struct x86_instruction *in)
{
	size_t size = in->opcode & 1 ? 2 : 1;
	uint64_t value;

	x86_read_operands(in);
	if (in->mod == 3)
		return ARCH_OUT_OF_LINE;
	if (x86_memory_get(in, x86_operand_address(in), size, &value))
		return ARCH_FAULT;
	if (in->opcode & 8)
		value = size == 1 ? (uint64_t)(int8_t)value : (uint64_t)(int16_t)value;
	x86_register_set(in, in->reg, value);
	return go_on(in);
}

struct opcodes {
	uint8_t first, last;
	bool any_prefix; /* also handled with prefixes 66, F2 and F3, which do not matter */
	handler *handle;
};

static const struct opcodes one_byte[] = {
	{0x01, 0x01, false, do_operation},
	{0x03, 0x03, false, do_operation},
	{0x09, 0x09, false, do_operation},
	{0x0b, 0x0b, false, do_operation},
	{0x21, 0x21, false, do_operation},
	{0x23, 0x23, false, do_operation},
	{0x29, 0x29, false, do_operation},
	{0x2b, 0x2b, false, do_operation},
	{0x31, 0x31, false, do_operation},
	{0x33, 0x33, false, do_operation},
	{0x39, 0x39, false, do_operation},
	{0x3b, 0x3b, false, do_operation},
	{0x50, 0x57, false, do_push},
	{0x58, 0x5f, false, do_pop},
	{0x63, 0x63, false, do_widen_index},
	{0x68, 0x68, false, do_push_immediate},
	{0x6a, 0x6a, false, do_push_immediate},
	{0x70, 0x7f, true, do_branch},
	{0x81, 0x81, false, do_operation_immediate},
	{0x83, 0x83, false, do_operation_immediate},
	{0x85, 0x85, false, do_test},
	{0x89, 0x89, false, do_move},
	{0x8b, 0x8b, false, do_move},
	{0x8d, 0x8d, false, do_address},
	{0x90, 0x90, true, do_nothing},
	{0x98, 0x98, false, do_widen},
	{0x9a, 0x9a, true, do_refuse},
	{0x9c, 0x9d, true, do_refuse},
	{0xb8, 0xbf, false, do_move_immediate},
	{0xc2, 0xc3, true, do_return},
	{0xc7, 0xc7, false, do_store_immediate},
	{0xc9, 0xc9, false, do_leave},
	{0xca, 0xcf, true, do_refuse},
	{0xe0, 0xe3, true, do_refuse},
	{0xe8, 0xe8, true, do_call},
	{0xe9, 0xe9, true, do_jump},
	{0xea, 0xea, true, do_refuse},
	{0xeb, 0xeb, true, do_jump},
	{0xf1, 0xf1, true, do_refuse},
	{0xf4, 0xf4, true, do_refuse},
	{0xff, 0xff, false, do_indirect},
};

static const struct opcodes two_bytes[] = {
	{0x05, 0x05, true, do_refuse},        {0x07, 0x07, true, do_refuse},
	{0x1e, 0x1e, true, do_mark},          {0x1f, 0x1f, true, do_long_nothing},
	{0x34, 0x35, true, do_refuse},        {0x40, 0x4f, false, do_move_if},
	{0x80, 0x8f, true, do_long_branch},   {0xb6, 0xb7, false, do_move_widened},
	{0xbe, 0xbf, false, do_move_widened},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct opcodes *find_opcode(const struct opcodes *table, size_t count, uint8_t opcode)
{
	for (size_t i = 0; i < count; i++)
		if (opcode >= table[i].first && opcode <= table[i].last)
			return &table[i];
	return NULL;
}

/* Jumps are handled with any prefix (branch hints, `bnd`, `notrack`). For other instructions,
 * prefixes change the meaning. */
static bool is_plain(const struct x86_instruction *in, const struct opcodes *opcodes)
{
	bool plain = !in->half && !in->repeat && !in->other;

	if (in->segment || (in->thread && in->is_32bit))
		return false;
	return opcodes->any_prefix || plain;
}

enum arch_step x86_emulate(struct x86_registers *registers, const uint8_t code[ARCH_CODE_MAX],
			   const struct arch_memory *memory)
{
	struct x86_instruction in = {.registers = registers, .memory = memory, .code = code};
	const struct opcodes *opcodes;
	enum arch_step step;
	struct x86_registers before = *registers;

	in.is_32bit = x86_is_narrow(registers);
	x86_read_prefixes(&in);
	in.size = in.rex & X86_REX_W ? 8 : 4;
	if (in.opcode == 0x0f) {
		in.opcode = x86_next_byte(&in);
		opcodes = find_opcode(two_bytes, COUNT_OF(two_bytes), in.opcode);
	} else {
		opcodes = find_opcode(one_byte, COUNT_OF(one_byte), in.opcode);
	}
	if (!opcodes)
		return ARCH_OUT_OF_LINE;
	if (opcodes->handle != do_refuse && !is_plain(&in, opcodes))
		return ARCH_OUT_OF_LINE;
	step = opcodes->handle(&in);
	if (step)
		*registers = before;
	return step;
}

bool x86_can_step(const uint8_t code[ARCH_CODE_MAX], bool is_32bit)
{
	struct x86_registers registers = {.cs = is_32bit ? 0x23 : 0x33};

	return code[0] != X86_BREAKPOINT &&
	       x86_emulate(&registers, code, &arch_memory_of_zeros) != ARCH_REFUSED;
}
