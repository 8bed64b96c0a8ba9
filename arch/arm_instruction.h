/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common parts of ARM and Thumb instructions; for arm_code.c and arm_thumb.c.
 *
 * Source: ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition: A2.3 (registers), A2.5.2
 * (ITSTATE), A5 and A6 (encodings), A8 (instructions).
 */
#ifndef MTRACE_ARCH_ARM_INSTRUCTION_H
#define MTRACE_ARCH_ARM_INSTRUCTION_H

#include "arch/arch.h"

#define ARM_SP 13
#define ARM_LR 14
#define ARM_PC 15

#define ARM_NEGATIVE 0x80000000u
#define ARM_ZERO     0x40000000u
#define ARM_CARRY    0x20000000u
#define ARM_OVERFLOW 0x10000000u
#define ARM_THUMB    0x20u

#define ARM_CONDITION_ALWAYS 14

struct arm_instruction {
	struct arm_registers *registers;
	const struct arch_memory *memory;
	uint32_t word; /* 32-bit Thumb: the first halfword is the upper one */
	uint32_t size; /* bytes */
	bool thumb;
	bool conditional; /* in an IT block: 16-bit instructions set no flags */
};

typedef enum arch_step arm_handler(struct arm_instruction *in);

/* A decoding table: the first row that matches handles the instruction. */
struct arm_row {
	uint32_t mask, bits;
	arm_handler *handle;
};

/* Returns ARCH_REFUSED if no row matches. */
enum arch_step arm_dispatch(struct arm_instruction *in, const struct arm_row *rows, size_t count);

/* Handlers for instructions that are not emulated. */
enum arch_step arm_refuse(struct arm_instruction *in);
enum arch_step arm_line(struct arm_instruction *in);
enum arch_step arm_nothing(struct arm_instruction *in);

/* Bits `low` to `low + count - 1`, and sign extension. */
static inline uint32_t arm_bits(const struct arm_instruction *in, unsigned int low,
				unsigned int count)
{
	return in->word >> low & ((1u << count) - 1);
}

static inline int32_t arm_signed(uint32_t value, unsigned int bits)
{
	return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

/* The value that the instruction reads: the program counter is two instructions ahead. */
uint32_t arm_get(const struct arm_instruction *in, unsigned int number);
/* The base of addresses relative to the program counter. */
uint32_t arm_aligned_pc(const struct arm_instruction *in);

enum arch_step arm_go_on(struct arm_instruction *in);
/* Stays in the same instruction set. */
enum arch_step arm_branch(struct arm_instruction *in, uint32_t target);
/* Bit 0 selects the instruction set. */
enum arch_step arm_interwork(struct arm_instruction *in, uint32_t pointer);
/* Sets a register and continues. Setting the program counter is an interworking branch. */
enum arch_step arm_set(struct arm_instruction *in, unsigned int number, uint32_t value);
/* Sets the link register to the address of the next instruction. */
void arm_link(struct arm_instruction *in);

bool arm_condition_holds(uint32_t cpsr, unsigned int condition);

/* Returns left + right + carry, and optionally sets the flags. */
uint32_t arm_add(struct arm_registers *registers, uint32_t left, uint32_t right, bool carry,
		 bool sets_flags);
/* Sets negative, zero and carry, but keeps overflow. */
void arm_set_flags(struct arm_registers *registers, uint32_t result, bool carry);

int arm_load(const struct arm_instruction *in, uint32_t address, uint32_t *ret_word);
int arm_store(const struct arm_instruction *in, uint32_t address, uint32_t word);

/* Transfers a word or byte. The base register becomes `base_after`. */
struct arm_transfer {
	unsigned int rt, rn;
	uint32_t address, base_after;
	bool loads, bytes;
};
enum arch_step arm_transfer(struct arm_instruction *in, const struct arm_transfer *transfer);

/* Transfers several registers, one bit each; the lowest at `start`. */
struct arm_block {
	unsigned int rn;
	uint32_t list, start, base_after;
	bool loads, writes_back;
};
enum arch_step arm_transfer_block(struct arm_instruction *in, const struct arm_block *block);
/* Size of the registers in bytes. */
uint32_t arm_block_size(uint32_t list);

/* ITSTATE in cpsr, and its value after one more instruction. */
uint32_t arm_it_get(uint32_t cpsr);
uint32_t arm_it_set(uint32_t cpsr, uint32_t it);
uint32_t arm_it_next(uint32_t it);

#endif
