/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/arm_instruction.h"

#define REGISTERS 16

enum arch_step arm_dispatch(struct arm_instruction *in, const struct arm_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((in->word & rows[i].mask) == rows[i].bits)
			return rows[i].handle(in);
	return ARCH_REFUSED;
}

enum arch_step arm_refuse(struct arm_instruction *in)
{
	(void)in;
	return ARCH_REFUSED;
}

enum arch_step arm_line(struct arm_instruction *in)
{
	(void)in;
	return ARCH_OUT_OF_LINE;
}

enum arch_step arm_nothing(struct arm_instruction *in)
{
	return arm_go_on(in);
}

uint32_t arm_get(const struct arm_instruction *in, unsigned int number)
{
	return in->registers->r[number] + (number == ARM_PC ? (in->thumb ? 4 : 8) : 0);
}

uint32_t arm_aligned_pc(const struct arm_instruction *in)
{
	return arm_get(in, ARM_PC) & ~3u;
}

enum arch_step arm_go_on(struct arm_instruction *in)
{
	in->registers->r[ARM_PC] += in->size;
	return ARCH_DONE;
}

enum arch_step arm_branch(struct arm_instruction *in, uint32_t target)
{
	in->registers->r[ARM_PC] = target & (in->thumb ? ~1u : ~3u);
	return ARCH_DONE;
}

enum arch_step arm_interwork(struct arm_instruction *in, uint32_t pointer)
{
	struct arm_registers *registers = in->registers;

	registers->r[ARM_PC] = pointer & (pointer & 1 ? ~1u : ~3u);
	registers->cpsr = (registers->cpsr & ~ARM_THUMB) | (pointer & 1 ? ARM_THUMB : 0);
	return ARCH_DONE;
}

enum arch_step arm_set(struct arm_instruction *in, unsigned int number, uint32_t value)
{
	if (number == ARM_PC)
		return arm_interwork(in, value);
	in->registers->r[number] = value;
	return arm_go_on(in);
}

void arm_link(struct arm_instruction *in)
{
	in->registers->r[ARM_LR] = (in->registers->r[ARM_PC] + in->size) | in->thumb;
}

/* The processor's condition codes; odd numbers negate them. */
bool arm_condition_holds(uint32_t cpsr, unsigned int condition)
{
	bool negative = cpsr & ARM_NEGATIVE, zero = cpsr & ARM_ZERO;
	bool carry = cpsr & ARM_CARRY, overflow = cpsr & ARM_OVERFLOW;
	const bool conditions[8] = {
		zero,
		carry,
		negative,
		overflow,
		carry && !zero,
		negative == overflow,
		negative == overflow && !zero,
		true,
	};

	if (condition >= ARM_CONDITION_ALWAYS)
		return true;
	return conditions[condition >> 1] != (condition & 1);
}

void arm_set_flags(struct arm_registers *registers, uint32_t result, bool carry)
{
	registers->cpsr &= ~(ARM_NEGATIVE | ARM_ZERO | ARM_CARRY);
	registers->cpsr |=
		(result & ARM_NEGATIVE) | (result ? 0 : ARM_ZERO) | (carry ? ARM_CARRY : 0);
}

uint32_t arm_add(struct arm_registers *registers, uint32_t left, uint32_t right, bool carry,
		 bool sets_flags)
{
	uint64_t sum = (uint64_t)left + right + carry;
	uint32_t result = (uint32_t)sum;
	bool overflow = (left ^ result) & (right ^ result) & ARM_NEGATIVE;

	if (!sets_flags)
		return result;
	arm_set_flags(registers, result, sum >> 32);
	registers->cpsr = (registers->cpsr & ~ARM_OVERFLOW) | (overflow ? ARM_OVERFLOW : 0);
	return result;
}

static uint32_t word_of(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static void word_to(uint8_t *bytes, uint32_t word)
{
	for (unsigned int i = 0; i < sizeof(word); i++)
		bytes[i] = (uint8_t)(word >> 8 * i);
}

int arm_load(const struct arm_instruction *in, uint32_t address, uint32_t *ret_word)
{
	uint8_t bytes[4];

	if (in->memory->read(in->memory->ctx, address, bytes, sizeof(bytes)))
		return -1;
	*ret_word = word_of(bytes);
	return 0;
}

int arm_store(const struct arm_instruction *in, uint32_t address, uint32_t word)
{
	uint8_t bytes[4];

	word_to(bytes, word);
	return in->memory->write(in->memory->ctx, address, bytes, sizeof(bytes));
}

static int load_byte(const struct arm_instruction *in, uint32_t address, uint32_t *ret_word)
{
	uint8_t byte;

	if (in->memory->read(in->memory->ctx, address, &byte, 1))
		return -1;
	*ret_word = byte;
	return 0;
}

static int store_byte(const struct arm_instruction *in, uint32_t address, uint32_t word)
{
	uint8_t byte = (uint8_t)word;

	return in->memory->write(in->memory->ctx, address, &byte, 1);
}

/* Refuses what the manual calls unpredictable. */
static bool is_odd(const struct arm_transfer *transfer, bool writes_back)
{
	if (transfer->rt == ARM_PC && (!transfer->loads || transfer->bytes))
		return true;
	return writes_back && (transfer->rn == ARM_PC || transfer->rn == transfer->rt);
}

enum arch_step arm_transfer(struct arm_instruction *in, const struct arm_transfer *transfer)
{
	bool writes_back =
		transfer->base_after != arm_get(in, transfer->rn) && transfer->rn != ARM_PC;
	uint32_t value = arm_get(in, transfer->rt);
	int err;

	if (is_odd(transfer, writes_back))
		return ARCH_REFUSED;
	if (transfer->loads)
		err = transfer->bytes ? load_byte(in, transfer->address, &value)
				      : arm_load(in, transfer->address, &value);
	else
		err = transfer->bytes ? store_byte(in, transfer->address, value)
				      : arm_store(in, transfer->address, value);
	if (err)
		return transfer->rn == ARM_PC ? ARCH_REFUSED : ARCH_FAULT;
	if (writes_back)
		in->registers->r[transfer->rn] = transfer->base_after;
	return transfer->loads ? arm_set(in, transfer->rt, value) : arm_go_on(in);
}

uint32_t arm_block_size(uint32_t list)
{
	return 4 * (uint32_t)__builtin_popcount(list);
}

static bool is_odd_block(const struct arm_block *block)
{
	bool has_base = block->list >> block->rn & 1;
	bool base_is_first = !(block->list & ((1u << block->rn) - 1));

	if (!block->list || block->rn == ARM_PC || (!block->loads && block->list >> ARM_PC))
		return true;
	return block->writes_back && has_base && (block->loads || !base_is_first);
}

static void load_registers(struct arm_registers *registers, uint32_t list, const uint8_t *bytes)
{
	for (unsigned int i = 0; i < ARM_PC; i++)
		if (list >> i & 1) {
			registers->r[i] = word_of(bytes);
			bytes += 4;
		}
}

static void store_registers(const struct arm_registers *registers, uint32_t list, uint8_t *bytes)
{
	for (unsigned int i = 0; i < ARM_PC; i++)
		if (list >> i & 1) {
			word_to(bytes, registers->r[i]);
			bytes += 4;
		}
}

enum arch_step arm_transfer_block(struct arm_instruction *in, const struct arm_block *block)
{
	const struct arch_memory *memory = in->memory;
	uint32_t size = arm_block_size(block->list);
	uint8_t bytes[4 * REGISTERS];

	if (is_odd_block(block))
		return ARCH_REFUSED;
	if (block->loads) {
		if (memory->read(memory->ctx, block->start, bytes, size))
			return block->list >> ARM_PC ? ARCH_REFUSED : ARCH_FAULT;
		load_registers(in->registers, block->list, bytes);
	} else {
		store_registers(in->registers, block->list, bytes);
		if (memory->write(memory->ctx, block->start, bytes, size))
			return ARCH_FAULT;
	}
	if (block->writes_back)
		in->registers->r[block->rn] = block->base_after;
	if (block->list >> ARM_PC)
		return arm_interwork(in, word_of(bytes + size - 4));
	return arm_go_on(in);
}

#define IT_LOW_AT    25 /* its two low bits in cpsr … */
#define IT_LOW_BITS  2
#define IT_HIGH_AT   10 /* … and the others */
#define IT_HIGH_MASK 0x3fu
#define IT_LOW_MASK  0x3u

uint32_t arm_it_get(uint32_t cpsr)
{
	return (cpsr >> IT_LOW_AT & IT_LOW_MASK) | (cpsr >> IT_HIGH_AT & IT_HIGH_MASK)
							   << IT_LOW_BITS;
}

uint32_t arm_it_set(uint32_t cpsr, uint32_t it)
{
	cpsr &= ~(IT_LOW_MASK << IT_LOW_AT | IT_HIGH_MASK << IT_HIGH_AT);
	return cpsr | (it & IT_LOW_MASK) << IT_LOW_AT |
	       (it >> IT_LOW_BITS & IT_HIGH_MASK) << IT_HIGH_AT;
}

uint32_t arm_it_next(uint32_t it)
{
	return it & 7 ? (it & 0xe0) | (it << 1 & 0x1f) : 0;
}
