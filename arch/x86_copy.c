/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a copy of an instruction at another address. Operands relative to the instruction pointer
 * must be fixed up: they are rewritten to be relative to a register that the instruction does not
 * use, which holds the original instruction pointer for the step. That requires the length of the
 * instruction, because the distance counts from its end.
 */
#include "arch/x86_copy.h"

#include <string.h>

#include "arch/x86.h"

enum opcode_map { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A };

/* The layout of an instruction. */
struct x86_layout {
	enum opcode_map map;
	uint8_t opcode;
	bool half;       /* 66 */
	int rex;         /* index of the prefix with the bit for the base, or -1 */
	uint8_t inverse; /* mask of that bit, if it is stored inverted (VEX, EVEX); 0: bit 0 of REX
			  */
	int used;        /* the register of a VEX or EVEX prefix, or -1 */
	size_t operands; /* index of ModRM */
};

/* One-byte opcodes with ModRM, one bit each. */
static const uint16_t has_operands[16] = {
	0x0f0f, 0x0f0f, 0x0f0f, 0x0f0f, 0x0000, 0x0000, 0x0a08, 0x0000,
	0xffff, 0x0000, 0x0000, 0x0000, 0x00c3, 0xff0f, 0x0000, 0xc0c0,
};

/* The same for opcodes after 0f. */
static const uint16_t has_operands_0f[16] = {
	0x200f, 0xffff, 0xff0f, 0x0000, 0xffff, 0xffff, 0xffff, 0xff7f,
	0x0000, 0xffff, 0xf838, 0xffff, 0x00ff, 0xffff, 0xffff, 0xffff,
};

static bool is_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					   0x66, 0x67, 0xf0, 0xf2, 0xf3};

	return memchr(prefixes, byte, sizeof(prefixes)) != NULL;
}

/* VEX and EVEX number the opcode maps like enum opcode_map. */
static size_t read_vector_prefix(struct x86_layout *layout, const uint8_t *code, size_t at)
{
	size_t length = code[at] == 0xc5 ? 2 : code[at] == 0xc4 ? 3 : 4;
	uint8_t registers = code[at + (length == 2 ? 1 : 2)];

	layout->map = length == 2 ? MAP_0F : (enum opcode_map)(code[at + 1] & 3);
	layout->used = ~(registers >> 3) & 15;
	if (length > 2) {
		layout->rex = (int)at + 1;
		layout->inverse = 0x20;
	}
	return at + length;
}

static bool has_modrm(const struct x86_layout *layout)
{
	const uint16_t *bits = layout->map == MAP_ONE ? has_operands : has_operands_0f;

	return layout->map > MAP_0F || (bits[layout->opcode >> 4] >> (layout->opcode & 15) & 1);
}

/* For 64-bit code. Returns false if the instruction has no ModRM. */
static bool read_layout(const uint8_t *code, struct x86_layout *layout)
{
	size_t at = 0;

	*layout = (struct x86_layout){.rex = -1, .used = -1};
	while (at < 8 && is_prefix(code[at]))
		layout->half |= code[at++] == 0x66;
	if ((code[at] & 0xf0) == 0x40)
		layout->rex = (int)at++;
	if (code[at] == 0xc4 || code[at] == 0xc5 || code[at] == 0x62) {
		at = read_vector_prefix(layout, code, at);
	} else if (code[at] == 0x0f) {
		at++;
		layout->map = MAP_0F;
		if (code[at] == 0x38 || code[at] == 0x3a)
			layout->map = code[at++] == 0x38 ? MAP_0F38 : MAP_0F3A;
	}
	layout->opcode = code[at];
	layout->operands = at + 1;
	return has_modrm(layout);
}

struct immediate {
	enum opcode_map map;
	uint8_t first, last;
	uint8_t size;   /* bytes; 4 means 2 with 16-bit operands */
	uint8_t groups; /* ModRM extensions that have it, one bit each; 0: all */
};

static const struct immediate immediates[] = {
	{MAP_ONE, 0x69, 0x69, 4, 0},   {MAP_ONE, 0x6b, 0x6b, 1, 0},  {MAP_ONE, 0x80, 0x80, 1, 0},
	{MAP_ONE, 0x81, 0x81, 4, 0},   {MAP_ONE, 0x83, 0x83, 1, 0},  {MAP_ONE, 0xc0, 0xc1, 1, 0},
	{MAP_ONE, 0xc6, 0xc6, 1, 0},   {MAP_ONE, 0xc7, 0xc7, 4, 0},  {MAP_ONE, 0xf6, 0xf6, 1, 0x3},
	{MAP_ONE, 0xf7, 0xf7, 4, 0x3}, {MAP_0F, 0x70, 0x73, 1, 0},   {MAP_0F, 0xa4, 0xa4, 1, 0},
	{MAP_0F, 0xac, 0xac, 1, 0},    {MAP_0F, 0xba, 0xba, 1, 0},   {MAP_0F, 0xc2, 0xc2, 1, 0},
	{MAP_0F, 0xc4, 0xc6, 1, 0},    {MAP_0F3A, 0x00, 0xff, 1, 0},
};

static size_t immediate_size(const struct x86_layout *layout, uint8_t operands)
{
	for (size_t i = 0; i < sizeof(immediates) / sizeof(immediates[0]); i++) {
		const struct immediate *row = &immediates[i];

		if (row->map != layout->map || layout->opcode < row->first ||
		    layout->opcode > row->last)
			continue;
		if (row->groups && !(row->groups >> (operands >> 3 & 7) & 1))
			return 0;
		return row->size == 4 && layout->half ? 2 : row->size;
	}
	return 0;
}

/* Instructions with ModRM use none of these (rsi, rdi, rbx) implicitly. */
static int free_register(const struct x86_layout *layout, uint8_t operands)
{
	static const int candidates[] = {6, 7, 3};
	int named = operands >> 3 & 7, i = 0;

	while (candidates[i] == named || candidates[i] == layout->used)
		i++;
	return candidates[i];
}

static uint64_t *register_of_number(struct x86_registers *registers, int number)
{
	return number == 6 ? &registers->si : number == 7 ? &registers->di : &registers->bx;
}

#define OPERANDS_RELATIVE(byte) (((byte)&0xc7) == 0x05) /* mod 0, rm 5 */
#define OPERANDS_BASED(byte, base) \
	((uint8_t)(((byte)&0x38) | 0x80 | (base))) /* base register, 32-bit displacement */
#define DISTANCE_SIZE 4

static void make_absolute(struct arch_copy *copy, struct x86_registers *registers)
{
	struct x86_layout layout;
	uint64_t *scratch;
	uint8_t operands;
	size_t length;

	if (!read_layout(copy->code, &layout) || layout.operands >= ARCH_CODE_MAX)
		return;
	operands = copy->code[layout.operands];
	if (!OPERANDS_RELATIVE(operands))
		return;
	length = layout.operands + 1 + DISTANCE_SIZE + immediate_size(&layout, operands);
	copy->scratch = free_register(&layout, operands);
	scratch = register_of_number(registers, copy->scratch);
	copy->saved_value = *scratch;
	*scratch = registers->ip + length;
	copy->code[layout.operands] = OPERANDS_BASED(operands, copy->scratch);
	if (layout.rex >= 0)
		copy->code[layout.rex] = layout.inverse ? copy->code[layout.rex] | layout.inverse
							: copy->code[layout.rex] & ~1;
}

void x86_copy_begin(struct arch_copy *copy, struct x86_registers *registers,
		    const uint8_t code[ARCH_CODE_MAX], uint64_t slot)
{
	*copy = (struct arch_copy){.ip = registers->ip, .slot = slot, .scratch = -1};
	memcpy(copy->code, code, ARCH_CODE_MAX);
	if (!x86_is_narrow(registers))
		make_absolute(copy, registers);
	registers->ip = slot;
}

void x86_copy_end(const struct arch_copy *copy, struct x86_registers *registers)
{
	if (copy->scratch >= 0)
		*register_of_number(registers, copy->scratch) = copy->saved_value;
	registers->ip += copy->ip - copy->slot;
	if (x86_is_narrow(registers))
		registers->ip = (uint32_t)registers->ip;
}
