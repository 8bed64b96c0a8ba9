// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which bytes can be a call, by processor. What looks like one and is none costs a row.
 */
#include "symbol/cfi_row.h"

/*
 * x86: 5 bytes E8, or FF with an operand.
 */

#define CALL_LENGTH_MAX 7 /* FF, ModRM, SIB, displacement; prefixes do not matter for the end */

/* Bytes of an instruction FF with this ModRM byte and, where there is one, SIB byte. */
static size_t indirect_length(uint8_t modrm, uint8_t sib)
{
	uint8_t mod = modrm >> 6, base = modrm & 7;
	size_t length = 2;

	if (mod == 3)
		return length;
	if (base == 4) {
		length++;
		base = sib & 7;
	}
	if (mod == 1)
		return length + 1;
	return mod == 2 || base == 5 ? length + 4 : length;
}

/* Bytes of the call that these may be, 0 if they are none. */
static size_t call_length(const uint8_t *code, size_t available)
{
	size_t length = 0;

	if (code[0] == 0xe8)
		length = 5;
	else if (code[0] == 0xff && available > 1 && (code[1] >> 3 & 7) == 2)
		length = indirect_length(code[1], available > 2 ? code[2] : 0);
	return length <= available ? length : 0;
}

bool cfi_x86_has_call_end(const uint8_t *file, size_t start, size_t end)
{
	size_t at = start < CALL_LENGTH_MAX ? 0 : start - CALL_LENGTH_MAX + 1;

	for (; at < end; at++) {
		size_t length = (file[at] | 0x17) == 0xff ? call_length(file + at, end - at) : 0;

		if (length && at + length > start)
			return true;
	}
	return false;
}

/*
 * Of processors with instructions of 4 bytes.
 */

static uint32_t code_little(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t code_big(const uint8_t *at)
{
	return at[3] | (uint32_t)at[2] << 8 | (uint32_t)at[1] << 16 | (uint32_t)at[0] << 24;
}

/* Does one end in (start, end]? */
static bool has_word(const uint8_t *file, size_t start, size_t end, size_t step,
		     bool (*is_call)(const uint8_t *at))
{
	size_t at = start < 4 ? 0 : start / step * step - 4 + step;

	for (; at + 4 <= end; at += step)
		if (at + 4 > start && is_call(file + at))
			return true;
	return false;
}

/* BL; BLR, BLRAA and their like. */
static bool is_aarch64_call(const uint8_t *at)
{
	uint32_t code = code_little(at);

	return (code & 0xfc000000) == 0x94000000 || (code & 0xfefff000) == 0xd63f0000;
}

bool cfi_aarch64_has_call_end(const uint8_t *file, size_t start, size_t end)
{
	return has_word(file, start, end, 4, is_aarch64_call);
}

/* Of opcodes 16, 18 and 19 those that set the link register. */
static bool is_powerpc_call(const uint8_t *at)
{
	uint32_t code = code_big(at), opcode = code >> 26;

	return code & 1 && (opcode == 16 || opcode == 18 || opcode == 19);
}

bool cfi_powerpc_has_call_end(const uint8_t *file, size_t start, size_t end)
{
	return has_word(file, start, end, 4, is_powerpc_call);
}

/*
 * Arm. ARM: BL, BLX; and what reads the address behind the next instruction (MOV lr, pc). Thumb: BL
 * and BLX of two halves; BLX register, of one. Nothing tells which set the code is of.
 */

#define MOV_LR_PC 0xe1a0e00f

static bool is_arm_call(const uint8_t *at)
{
	uint32_t code = code_little(at), thumb = code << 16 | code >> 16;

	return (code & 0x0f000000) == 0x0b000000 || (code & 0xfe000000) == 0xfa000000 ||
	       (code & 0x0ffffff0) == 0x012fff30 || (thumb & 0xf800c000) == 0xf000c000 ||
	       (code & 0xff800000) == 0x47800000;
}

static bool is_thumb_call(const uint8_t *at)
{
	return (at[1] == 0x47) && (at[0] & 0x80);
}

/* The call is the instruction behind MOV, so the address is 8 bytes on. */
static bool has_old_call(const uint8_t *file, size_t start, size_t end)
{
	size_t at = start < 8 ? 0 : (start & ~(size_t)3) - 4;

	for (; at + 8 <= end; at += 4)
		if (at + 8 > start && code_little(file + at) == MOV_LR_PC)
			return true;
	return false;
}

bool cfi_arm_has_call_end(const uint8_t *file, size_t start, size_t end)
{
	if (end - start >= 2 && !(start & 1) && is_thumb_call(file + start))
		return true;
	return has_word(file, start, end, 2, is_arm_call) || has_old_call(file, start, end);
}
