// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/liveness/decode/registers.h"

#include <stddef.h>

#define PARTS 5

/* In the order of LIVENESS_SAVED. */
static const uint16_t saved_x86_64[][PARTS] = {
	{X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
	{X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
	{X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
	{X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
	{X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
	{X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
};

static const uint16_t saved_i386[][PARTS] = {
	{X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
	{X86_REG_EBP, X86_REG_BP},
	{X86_REG_ESI, X86_REG_SI},
	{X86_REG_EDI, X86_REG_DI},
};

static bool has_part(const uint16_t parts[PARTS], unsigned int reg)
{
	for (size_t i = 0; i < PARTS && parts[i]; i++)
		if (parts[i] == reg)
			return true;
	return false;
}

uint8_t liveness_saved_set(bool is_32bit, unsigned int reg)
{
	const uint16_t(*saved)[PARTS] = is_32bit ? saved_i386 : saved_x86_64;
	size_t count = is_32bit ? sizeof(saved_i386) / sizeof(saved_i386[0])
				: sizeof(saved_x86_64) / sizeof(saved_x86_64[0]);

	for (size_t i = 0; i < count; i++)
		if (has_part(saved[i], reg))
			return (uint8_t)(1U << i);
	return 0;
}

bool liveness_is_sp(unsigned int reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
}

bool liveness_is_bp(unsigned int reg)
{
	return reg == X86_REG_RBP || reg == X86_REG_EBP || reg == X86_REG_BP || reg == X86_REG_BPL;
}

bool liveness_is_whole_frame_register(bool is_32bit, unsigned int reg)
{
	return is_32bit ? reg == X86_REG_ESP || reg == X86_REG_EBP
			: reg == X86_REG_RSP || reg == X86_REG_RBP;
}
