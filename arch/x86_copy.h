/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a copy of an x86 instruction at another address, out of line (struct arch_copy in
 * arch.h). */
#ifndef MTRACE_ARCH_X86_COPY_H
#define MTRACE_ARCH_X86_COPY_H

#include "arch/arch.h"

/* Before the step: makes the copy, and sets the registers to run it at `slot`. */
void x86_copy_begin(struct arch_copy *copy, struct x86_registers *registers,
		    const uint8_t code[ARCH_CODE_MAX], uint64_t slot);
/* After the step: converts the registers to those at the original address. */
void x86_copy_end(const struct arch_copy *copy, struct x86_registers *registers);

#endif
