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

#define REGS_FRAME 29
#define REGS_LINK  30
#define REGS_SP    31
#define REGS_PC    32
/* The bits of an address of user space's; none of those above is met that did not ask for it. A
 * kernel with more of them has signatures above those, in fewer bits. */
#define REGS_ADDRESS 0xffffffffffffULL

/* One load at a constant offset, see arch/x86.bpf.h. Not CO-RE's: the layout is user ABI. */
#ifdef __bpf__
#define REGS_LOAD(regs, number)                             \
	({                                                  \
		__u64 loaded;                               \
		asm volatile("%0 = *(u64 *)(%1 + %2)"       \
			     : "=r"(loaded)                 \
			     : "r"(regs), "i"((number)*8)); \
		loaded;                                     \
	})
#else
#define REGS_LOAD(regs, number) (((const abi_u64 *)(const void *)(regs))[number])
#endif

static __always_inline int regs_is_narrow(const struct pt_regs *regs)
{
	(void)regs;
	return 0;
}

static __always_inline abi_u32 regs_word(const struct pt_regs *regs)
{
	(void)regs;
	return 8;
}

static __always_inline abi_u64 regs_argument(const struct pt_regs *regs, unsigned int position)
{
	switch (position) {
	case 0:
		return REGS_LOAD(regs, 0);
	case 1:
		return REGS_LOAD(regs, 1);
	case 2:
		return REGS_LOAD(regs, 2);
	case 3:
		return REGS_LOAD(regs, 3);
	case 4:
		return REGS_LOAD(regs, 4);
	case 5:
		return REGS_LOAD(regs, 5);
	}
	return 0;
}

static __always_inline abi_u64 regs_result(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, 0);
}

static __always_inline abi_u64 regs_sp(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, REGS_SP);
}

static __always_inline abi_u64 regs_ip(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, REGS_PC) & REGS_ADDRESS;
}

static __always_inline abi_u64 regs_bp(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, REGS_FRAME);
}

/* Calls leave the return address in a register, not on the stack; and there it is. */
#define REGS_LINKS 1

static __always_inline abi_u64 regs_link(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, REGS_LINK) & REGS_ADDRESS;
}

/* How far a return moves the stack. */
static __always_inline abi_u64 regs_return_pops(const struct pt_regs *regs)
{
	(void)regs;
	return 0;
}

#define REGS_USER_END          (1ULL << 48)
#define REGS_UNWIND_ABI        unwind_abi_aarch64
#define REGS_UNWIND_ABI_NARROW unwind_abi_aarch64
#define REGS_GUESSES           0 /* is code without tables walked by frame pointers? */

#endif
