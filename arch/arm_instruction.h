/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What instructions of ARM and of Thumb code have in common; for arm_code.c and arm_thumb.c.
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
	uint32_t word; /* of two halves, the first above the second */
	uint32_t size; /* bytes */
	bool thumb;
	bool conditional; /* in an IT block: short instructions set no flags */
};

typedef enum arch_step arm_handler(struct arm_instruction *in);

/* The first row whose bits the instruction has says what is done with it. */
struct arm_row {
	uint32_t mask, bits;
	arm_handler *handle;
};

/* ARCH_REFUSED if there is none. */
enum arch_step arm_dispatch(struct arm_instruction *in, const struct arm_row *rows, size_t count);

/* The rows' answers for what is not emulated. */
enum arch_step arm_refuse(struct arm_instruction *in);
enum arch_step arm_line(struct arm_instruction *in);
enum arch_step arm_nothing(struct arm_instruction *in);

/* Bits `low` up to `low + count - 1`; and with their sign. */
static inline uint32_t arm_bits(const struct arm_instruction *in, unsigned int low,
				unsigned int count)
{
	return in->word >> low & ((1u << count) - 1);
}

static inline int32_t arm_signed(uint32_t value, unsigned int bits)
{
	return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

/* As the instruction reads it: ahead by two instructions if it is that of the next one. */
uint32_t arm_get(const struct arm_instruction *in, unsigned int number);
/* For addresses that are relative to it. */
uint32_t arm_aligned_pc(const struct arm_instruction *in);

enum arch_step arm_go_on(struct arm_instruction *in);
/* In the same instruction set. */
enum arch_step arm_branch(struct arm_instruction *in, uint32_t target);
/* In that which bit 0 tells. */
enum arch_step arm_interwork(struct arm_instruction *in, uint32_t pointer);
/* To a register, and then on; to the program counter: a branch that may change the set. */
enum arch_step arm_set(struct arm_instruction *in, unsigned int number, uint32_t value);
/* The return address of a call is behind it. */
void arm_link(struct arm_instruction *in);

bool arm_condition_holds(uint32_t cpsr, unsigned int condition);

/* left + right + carry, and the flags of it. */
uint32_t arm_add(struct arm_registers *registers, uint32_t left, uint32_t right, bool carry,
		 bool sets_flags);
/* Of a result whose carry is known, and whose overflow stays. */
void arm_set_flags(struct arm_registers *registers, uint32_t result, bool carry);

int arm_load(const struct arm_instruction *in, uint32_t address, uint32_t *ret_word);
int arm_store(const struct arm_instruction *in, uint32_t address, uint32_t word);

/* One word or byte. The base becomes `base_after`. */
struct arm_transfer {
	unsigned int rt, rn;
	uint32_t address, base_after;
	bool loads, bytes;
};
enum arch_step arm_transfer(struct arm_instruction *in, const struct arm_transfer *transfer);

/* Several, a bit each; the lowest at `start`. */
struct arm_block {
	unsigned int rn;
	uint32_t list, start, base_after;
	bool loads, writes_back;
};
enum arch_step arm_transfer_block(struct arm_instruction *in, const struct arm_block *block);
/* Bytes of it. */
uint32_t arm_block_size(uint32_t list);

/* The state of an IT block, and after one instruction of it. */
uint32_t arm_it_get(uint32_t cpsr);
uint32_t arm_it_set(uint32_t cpsr, uint32_t it);
uint32_t arm_it_next(uint32_t it);

#endif
