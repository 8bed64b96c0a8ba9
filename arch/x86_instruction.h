/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads an x86 instruction and its operands; for x86.c. */
#ifndef MTRACE_ARCH_X86_INSTRUCTION_H
#define MTRACE_ARCH_X86_INSTRUCTION_H

#include "arch/arch.h"

#define X86_REX_W 8
#define X86_REX_R 4
#define X86_REX_X 2
#define X86_REX_B 1

/* An instruction, as far as it has been read. */
struct x86_instruction {
	struct x86_registers *registers;
	const struct arch_memory *memory;
	const uint8_t *code;
	size_t at; /* bytes read so far */
	bool is_32bit;
	bool half;    /* 16-bit operands (66) */
	bool other;   /* a prefix that only some instructions are handled with: F2, F3, 67, F0 */
	bool repeat;  /* F3, which may be part of the opcode */
	bool thread;  /* FS, whose base is the thread pointer */
	bool segment; /* any other segment prefix */
	uint8_t rex;
	uint8_t opcode;
	uint8_t mod, reg, rm; /* with REX */
	bool relative;        /* the address is relative to the next instruction */
	size_t size;          /* operand size in bytes */
	uint64_t address;     /* of the memory operand */
};

uint8_t x86_next_byte(struct x86_instruction *in);
/* Reads a signed number of `size` bytes. */
int64_t x86_next_signed(struct x86_instruction *in, size_t size);
/* Also reads the opcode, or its first byte. */
void x86_read_prefixes(struct x86_instruction *in);
/* Reads ModRM, SIB and displacement. */
void x86_read_operands(struct x86_instruction *in);

uint64_t *x86_register_at(struct x86_registers *registers, unsigned int number);
uint64_t x86_register_get(const struct x86_instruction *in, unsigned int number);
/* Writing 32 bits clears the upper half. */
void x86_register_set(const struct x86_instruction *in, unsigned int number, uint64_t value);

/* The size of a word in bytes, and a value truncated to it. */
size_t x86_word_of(const struct x86_instruction *in);
uint64_t x86_pointer(const struct x86_instruction *in, uint64_t value);

/* Call only after reading the whole instruction. */
uint64_t x86_operand_address(const struct x86_instruction *in);
/* Return 0, or nonzero if the memory is not accessible. */
int x86_memory_get(const struct x86_instruction *in, uint64_t address, size_t size,
		   uint64_t *ret_value);
int x86_memory_set(const struct x86_instruction *in, uint64_t address, size_t size, uint64_t value);
int x86_operand_get(const struct x86_instruction *in, uint64_t *ret_value);
int x86_operand_set(const struct x86_instruction *in, uint64_t value);

#endif
