/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PowerPC register access for BPF programs, on 32-bit kernels: arguments, result, stack pointer,
 * instruction pointer, frame pointer and link register (Power Architecture 32-bit ABI Supplement
 * 1.0, 3.2; struct pt_regs of arch/powerpc/include/uapi/asm/ptrace.h, which is the start of the
 * kernel's struct pt_regs). The registers are 32-bit words of the kernel, while BPF registers have
 * 64 bits.
 */
#ifndef MTRACE_ARCH_POWERPC_BPF_H
#define MTRACE_ARCH_POWERPC_BPF_H

#define REGS_SP      1
#define REGS_FIRST   3 /* the first argument, and the result */
#define REGS_FRAME   31
#define REGS_PC      32
#define REGS_LINK    36
#define REGS_ADDRESS 0xfffffffcULL /* the bits of a code address */

#define REGS_WIDTH 32 /* bits of a register */

#include "arch/link.bpf.h"

#define REGS_USER_END         (1ULL << 32)
#define REGS_UNWIND_ABI       unwind_abi_powerpc
#define REGS_UNWIND_ABI_32BIT unwind_abi_powerpc
#define REGS_GUESSES          0 /* no fallback to frame pointers for code without tables */

#endif
