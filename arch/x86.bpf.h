/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64 registers as BPF programs see them: arguments, result, stack pointer, instruction pointer
 * (System V AMD64 ABI, 3.2.3; struct pt_regs of arch/x86/include/asm/ptrace.h).
 */
#ifndef MTRACE_ARCH_X86_BPF_H
#define MTRACE_ARCH_X86_BPF_H

/* One load at a constant offset: the verifier refuses a computed pointer into the context, and the
 * compiler would compute one for the switch below. The layout is user ABI (ptrace), not CO-RE's. */
#define REGS_LOAD(regs, field)                                                             \
	({                                                                                 \
		__u64 loaded;                                                              \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                                      \
			     : "=r"(loaded)                                                \
			     : "r"(regs), "i"(__builtin_offsetof(struct pt_regs, field))); \
		loaded;                                                                    \
	})

static __always_inline __u64 regs_argument(const struct pt_regs *regs, unsigned int position)
{
	switch (position) {
	case 0:
		return REGS_LOAD(regs, di);
	case 1:
		return REGS_LOAD(regs, si);
	case 2:
		return REGS_LOAD(regs, dx);
	case 3:
		return REGS_LOAD(regs, cx);
	case 4:
		return REGS_LOAD(regs, r8);
	case 5:
		return REGS_LOAD(regs, r9);
	}
	return 0;
}

static __always_inline __u64 regs_result(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, ax);
}

static __always_inline __u64 regs_sp(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, sp);
}

static __always_inline __u64 regs_ip(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, ip);
}

static __always_inline __u64 regs_bp(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, bp);
}

#define REGS_UNWIND_ABI unwind_abi_x86_64

/* At a function's entry: where its return address lies, and how far a return moves the stack. */
#define REGS_RETURN_ADDRESS_ON_STACK 1
#define REGS_RETURN_POPS             8

#endif
