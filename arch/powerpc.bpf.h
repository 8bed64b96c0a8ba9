/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PowerPC registers as BPF programs see them, of a kernel of 32 bits: arguments, result, stack
 * pointer, instruction pointer, frame pointer and link register (Power Architecture 32-bit ABI
 * Supplement 1.0, 3.2; struct pt_regs of arch/powerpc/include/uapi/asm/ptrace.h, with which the
 * kernel's own begins). The registers are words of the kernel's: of 32 bits, where BPF's have 64.
 */
#ifndef MTRACE_ARCH_POWERPC_BPF_H
#define MTRACE_ARCH_POWERPC_BPF_H

#define REGS_SP      1
#define REGS_FIRST   3 /* the first argument, and the result */
#define REGS_FRAME   31
#define REGS_PC      32
#define REGS_LINK    36
#define REGS_ADDRESS 0xfffffffcULL /* the bits of an address of code */

#define REGS_WIDTH 32 /* bits of a register */

#include "arch/link.bpf.h"

#define REGS_USER_END          (1ULL << 32)
#define REGS_UNWIND_ABI        unwind_abi_powerpc
#define REGS_UNWIND_ABI_NARROW unwind_abi_powerpc
#define REGS_GUESSES           0 /* is code without tables walked by frame pointers? */

#endif
