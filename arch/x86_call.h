/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call as its registers show it: what arch/x86.bpf.h is for BPF programs, for a tracer. Included
 * before bpf/alloc.bpf.h, whose struct pt_regs these registers are; read_user() reads a word of 8
 * bytes of the process whose registers they are.
 */
#ifndef MTRACE_ARCH_X86_CALL_H
#define MTRACE_ARCH_X86_CALL_H

#include "arch/x86.h"
#include "bpf/abi.h"

#define pt_regs x86_registers

static int read_user(abi_u64 address, abi_u64 *ret_word);

static inline int regs_is_narrow(const struct pt_regs *regs)
{
	return x86_is_narrow(regs);
}

static inline abi_u32 regs_word(const struct pt_regs *regs)
{
	return regs_is_narrow(regs) ? 4 : 8;
}

/* Above the return address. */
static inline abi_u64 stack_argument(const struct pt_regs *regs, unsigned int position)
{
	abi_u64 word = 0;

	(void)read_user(regs->sp + (position + 1) * sizeof(abi_u32), &word);
	return (abi_u32)word;
}

static inline abi_u64 regs_argument(const struct pt_regs *regs, unsigned int position)
{
	const abi_u64 words[] = {regs->di, regs->si, regs->dx, regs->cx, regs->r8, regs->r9};

	if (regs_is_narrow(regs))
		return stack_argument(regs, position);
	return position < sizeof(words) / sizeof(words[0]) ? words[position] : 0;
}

static inline abi_u64 regs_result(const struct pt_regs *regs)
{
	return regs_is_narrow(regs) ? (abi_u32)regs->ax : regs->ax;
}

static inline abi_u64 regs_sp(const struct pt_regs *regs)
{
	return regs->sp;
}

static inline abi_u64 regs_ip(const struct pt_regs *regs)
{
	return regs->ip;
}

static inline abi_u64 regs_bp(const struct pt_regs *regs)
{
	return regs_is_narrow(regs) ? (abi_u32)regs->bp : regs->bp;
}

/* How far a return moves the stack: over its address. */
static inline abi_u64 regs_return_pops(const struct pt_regs *regs)
{
	return regs_word(regs);
}

#endif
