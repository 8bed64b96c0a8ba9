/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86: the parts of arch_x86_64 and arch_i386 (arch.h). All registers have the layout of 64-bit
 * code; the mode is 1 for 32-bit code.
 *
 * Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapters 2 to 5
 * and appendix A; the kernel's uprobes, arch/x86/kernel/uprobes.c.
 */
#ifndef MTRACE_ARCH_X86_H
#define MTRACE_ARCH_X86_H

#include "arch/arch.h"

#define X86_BREAKPOINT 0xcc

/* Like the kernel's user_64bit_mode(): decides by the code segment. */
static inline bool x86_is_narrow(const struct x86_registers *registers)
{
	return registers->cs != 0x33 && registers->cs != 0xe033;
}

enum arch_step x86_emulate(struct x86_registers *registers, const uint8_t code[ARCH_CODE_MAX],
			   const struct arch_memory *memory);
bool x86_can_step(const uint8_t code[ARCH_CODE_MAX], bool is_32bit);

#endif
