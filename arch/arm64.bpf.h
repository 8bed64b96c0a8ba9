/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AArch64 register access for BPF programs: arguments, result, stack pointer, instruction pointer,
 * frame pointer and link register (AAPCS64, 6.1.1; struct user_pt_regs of
 * arch/arm64/include/uapi/asm/ptrace.h, which is the start of the kernel's struct pt_regs).
 *
 * There are no 32-bit calls: the kernel places no uprobes in AArch32 programs
 * (arch/arm64/kernel/probes/uprobes.c: arch_uprobe_analyze_insn).
 */
#ifndef MTRACE_ARCH_ARM64_BPF_H
#define MTRACE_ARCH_ARM64_BPF_H

#define REGS_FIRST 0 /* the first argument, and the result */
#define REGS_FRAME 29
#define REGS_LINK  30
#define REGS_SP    31
#define REGS_PC    32
/* The bits of a user space address. Only programs that ask for higher addresses get them. A kernel
 * with larger addresses has the signatures above those, in fewer bits. */
#define REGS_ADDRESS 0xffffffffffffULL

#define REGS_WIDTH 64 /* bits of a register */

#include "arch/link.bpf.h"

#define REGS_USER_END         (1ULL << 48)
#define REGS_UNWIND_ABI       unwind_abi_aarch64
#define REGS_UNWIND_ABI_32BIT unwind_abi_aarch64
#define REGS_GUESSES          0 /* no fallback to frame pointers for code without tables */

#endif
