// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which bytes can be a call, for each processor. A false positive costs one row.
 */
#include "symbol/cfi/calls.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

/*
 * x86: E8 with a 4-byte displacement, or FF with a ModRM operand.
 */

#define CALL_LENGTH_MAX 7 /* FF, ModRM, SIB, displacement; prefixes do not change where it ends */

/* Length in bytes of an FF instruction with this ModRM byte and, if it has one, this SIB byte. */
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

/* Length in bytes of the call that may start here, or 0. */
static size_t call_length(const uint8_t *code, size_t available)
{
	size_t length = 0;

	if (code[0] == 0xe8)
		length = 5;
	else if (code[0] == 0xff && available > 1 && (code[1] >> 3 & 7) == 2)
		length = indirect_length(code[1], available > 2 ? code[2] : 0);
	return length <= available ? length : 0;
}

/* On processors without vector instructions the compiler uses word operations. */
typedef uint8_t byte_vector __attribute__((vector_size(16)));
typedef uint64_t word_vector __attribute__((vector_size(16)));

#define VECTOR_BYTES sizeof(byte_vector)

/* Number of bytes before the first possible opcode; for FF, the next byte decides. */
static size_t bytes_before_opcode(const uint8_t *at)
{
	byte_vector first, second;
	word_vector found;

	memcpy(&first, at, sizeof(first));
	memcpy(&second, at + 1, sizeof(second));
	found = (word_vector)((first == 0xe8) | ((first == 0xff) & ((second & 0x38) == 0x10)));
	if (found[0])
		return (size_t)__builtin_ctzll(le64toh(found[0])) / 8;
	return found[1] ? 8 + (size_t)__builtin_ctzll(le64toh(found[1])) / 8 : VECTOR_BYTES;
}

/* The first position from `at` on at which a call may start, or `end`. */
static size_t next_opcode(const uint8_t *file, size_t at, size_t end)
{
	while (end - at > VECTOR_BYTES) {
		size_t before = bytes_before_opcode(file + at);

		at += before;
		if (before < VECTOR_BYTES)
			return at;
	}
	while (at < end && file[at] != 0xe8 && file[at] != 0xff)
		at++;
	return at;
}

size_t cfi_x86_call_end(const uint8_t *file, size_t start, size_t end)
{
	size_t at = start < CALL_LENGTH_MAX ? 0 : start - CALL_LENGTH_MAX + 1;
	size_t found = CFI_NO_CALL;

	for (; (at = next_opcode(file, at, end)) < end; at++) {
		size_t length = call_length(file + at, end - at);

		if (!length || at + length <= start)
			continue;
		found = at + length;
		end = found - 1; /* a call that starts later may end earlier */
	}
	return found;
}

/*
 * Processors with 4-byte instructions.
 */

static uint32_t code_little(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t code_big(const uint8_t *at)
{
	return at[3] | (uint32_t)at[2] << 8 | (uint32_t)at[1] << 16 | (uint32_t)at[0] << 24;
}

/* The first multiple of `step` in (start, end] at which a call can end. */
static size_t first_end(const uint8_t *file, size_t start, size_t end, size_t step,
			bool (*is_call_end)(const uint8_t *file, size_t at))
{
	for (size_t at = start / step * step + step; at <= end; at += step)
		if (is_call_end(file, at))
			return at;
	return CFI_NO_CALL;
}

/* BL; BLR and its authenticating variants (BLRAA, …). */
static bool is_aarch64_call_end(const uint8_t *file, size_t at)
{
	uint32_t code = code_little(file + at - 4);

	return (code & 0xfc000000) == 0x94000000 || (code & 0xfefff000) == 0xd63f0000;
}

size_t cfi_aarch64_call_end(const uint8_t *file, size_t start, size_t end)
{
	return first_end(file, start, end, 4, is_aarch64_call_end);
}

/* Branches (opcodes 16, 18 and 19) that set the link register. */
static bool is_powerpc_call_end(const uint8_t *file, size_t at)
{
	uint32_t code = code_big(file + at - 4), opcode = code >> 26;

	return code & 1 && (opcode == 16 || opcode == 18 || opcode == 19);
}

size_t cfi_powerpc_call_end(const uint8_t *file, size_t start, size_t end)
{
	return first_end(file, start, end, 4, is_powerpc_call_end);
}

/*
 * Arm. In ARM code: BL, BLX, and MOV lr, pc, which reads the address past the next instruction. In
 * Thumb code: BL and BLX of two halfwords, and BLX register of one. The instruction set of a piece
 * of code is not known here.
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

/* The instruction after the MOV is the call, so the return address is 8 bytes after the MOV. */
static bool is_old_call(const uint8_t *at)
{
	return code_little(at) == MOV_LR_PC;
}

static bool is_arm_call_end(const uint8_t *file, size_t at)
{
	if (at < 4)
		return is_thumb_call(file + at - 2);
	return is_arm_call(file + at - 4) || (at >= 8 && at % 4 == 0 && is_old_call(file + at - 8));
}

size_t cfi_arm_call_end(const uint8_t *file, size_t start, size_t end)
{
	return first_end(file, start, end, 2, is_arm_call_end);
}
