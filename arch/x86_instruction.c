/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/x86_instruction.h"

uint8_t x86_next_byte(struct x86_instruction *in)
{
	return in->at < ARCH_CODE_MAX ? in->code[in->at++] : 0;
}

int64_t x86_next_signed(struct x86_instruction *in, size_t size)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)x86_next_byte(in) << 8 * i;
	switch (size) {
	case 1:
		return (int8_t)value;
	case 4:
		return (int32_t)value;
	default:
		return (int64_t)value;
	}
}

void x86_read_prefixes(struct x86_instruction *in)
{
	for (;;) {
		uint8_t byte = x86_next_byte(in);

		switch (byte) {
		case 0x66:
			in->half = true;
			continue;
		case 0xf3:
			in->repeat = true;
			continue;
		case 0x64:
			in->thread = true;
			continue;
		case 0x65:
			in->segment = true;
			continue;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e: /* ignored in 64-bit code; flat segments in 32-bit code */
			continue;
		case 0x67:
		case 0xf0:
		case 0xf2:
			in->other = true;
			continue;
		}
		if (!in->is_32bit && (byte & 0xf0) == 0x40) {
			in->rex = byte;
			byte = x86_next_byte(in);
		}
		in->opcode = byte;
		return;
	}
}

uint64_t *x86_register_at(struct x86_registers *registers, unsigned int number)
{
	uint64_t *const places[16] = {
		&registers->ax,  &registers->cx,  &registers->dx,  &registers->bx,
		&registers->sp,  &registers->bp,  &registers->si,  &registers->di,
		&registers->r8,  &registers->r9,  &registers->r10, &registers->r11,
		&registers->r12, &registers->r13, &registers->r14, &registers->r15,
	};

	return places[number & 15];
}

uint64_t x86_register_get(const struct x86_instruction *in, unsigned int number)
{
	return *x86_register_at(in->registers, number);
}

void x86_register_set(const struct x86_instruction *in, unsigned int number, uint64_t value)
{
	*x86_register_at(in->registers, number) = in->size == 4 ? (uint32_t)value : value;
}

size_t x86_word_of(const struct x86_instruction *in)
{
	return in->is_32bit ? 4 : 8;
}

uint64_t x86_pointer(const struct x86_instruction *in, uint64_t value)
{
	return in->is_32bit ? (uint32_t)value : value;
}

static uint64_t scaled_index(const struct x86_instruction *in, uint8_t sib)
{
	unsigned int index = (sib >> 3 & 7) | (in->rex & X86_REX_X ? 8 : 0);

	return index == 4 ? 0 : x86_register_get(in, index) << (sib >> 6);
}

static void read_address(struct x86_instruction *in)
{
	unsigned int base = in->rm & 7;
	bool has_base = true;

	if (base == 4) {
		uint8_t sib = x86_next_byte(in);

		base = sib & 7;
		in->address = scaled_index(in, sib);
	}
	if (in->mod == 0 && base == 5) {
		has_base = false;
		in->relative = !in->is_32bit && (in->rm & 7) == 5;
	}
	if (has_base)
		in->address += x86_register_get(in, base | (in->rex & X86_REX_B ? 8 : 0));
	if (in->mod == 1)
		in->address += (uint64_t)x86_next_signed(in, 1);
	else if (in->mod == 2 || !has_base)
		in->address += (uint64_t)x86_next_signed(in, 4);
	if (in->thread)
		in->address += in->registers->fs_base;
}

void x86_read_operands(struct x86_instruction *in)
{
	uint8_t byte = x86_next_byte(in);

	in->mod = byte >> 6;
	in->reg = (byte >> 3 & 7) | (in->rex & X86_REX_R ? 8 : 0);
	in->rm = (byte & 7) | (in->rex & X86_REX_B ? 8 : 0);
	if (in->mod != 3)
		read_address(in);
}

uint64_t x86_operand_address(const struct x86_instruction *in)
{
	uint64_t address = in->address;

	if (in->relative)
		address += in->registers->ip + in->at;
	return x86_pointer(in, address);
}

int x86_memory_get(const struct x86_instruction *in, uint64_t address, size_t size,
		   uint64_t *ret_value)
{
	*ret_value = 0;
	return in->memory->read(in->memory->ctx, address, ret_value, size);
}

int x86_memory_set(const struct x86_instruction *in, uint64_t address, size_t size, uint64_t value)
{
	return in->memory->write(in->memory->ctx, address, &value, size);
}

int x86_operand_get(const struct x86_instruction *in, uint64_t *ret_value)
{
	if (in->mod != 3)
		return x86_memory_get(in, x86_operand_address(in), in->size, ret_value);
	*ret_value = x86_register_get(in, in->rm);
	if (in->size == 4)
		*ret_value = (uint32_t)*ret_value;
	return 0;
}

int x86_operand_set(const struct x86_instruction *in, uint64_t value)
{
	if (in->mod != 3)
		return x86_memory_set(in, x86_operand_address(in), in->size, value);
	x86_register_set(in, in->rm, value);
	return 0;
}
