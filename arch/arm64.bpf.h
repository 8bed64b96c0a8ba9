/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AArch64 registers as BPF programs see them: arguments, result, stack pointer, instruction
 * pointer, frame pointer and link register (AAPCS64, 6.1.1; struct user_pt_regs of
 * arch/arm64/include/uapi/asm/ptrace.h, with which the kernel's own begins).
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
/* The bits of an address of user space's; none of those above is met that did not ask for it. A
 * kernel with more of them has signatures above those, in fewer bits. */
#define REGS_ADDRESS 0xffffffffffffULL

#define REGS_WIDTH 64 /* bits of a register */

#include "arch/link.bpf.h"

#define REGS_USER_END          (1ULL << 48)
#define REGS_UNWIND_ABI        unwind_abi_aarch64
#define REGS_UNWIND_ABI_NARROW unwind_abi_aarch64
#define REGS_GUESSES           0 /* is code without tables walked by frame pointers? */

#endif
