/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access to a call's registers for a tracer, as arch/x86.bpf.h does for BPF programs. Include it
 * before bpf/alloc.bpf.h, whose struct pt_regs is struct arch_registers here. memory_now() is the
 * memory of the process that the registers belong to.
 */
#ifndef MTRACE_ARCH_CALL_H
#define MTRACE_ARCH_CALL_H

#include "arch/arch.h"
#include "bpf/abi.h"

#define pt_regs arch_registers

static const struct arch_memory *memory_now(void);

static inline int regs_are_32bit(const struct pt_regs *regs)
{
	return regs->arch->is_32bit(regs);
}

static inline abi_u32 regs_word(const struct pt_regs *regs)
{
	return regs_are_32bit(regs) ? 4 : 8;
}

static inline abi_u64 regs_argument(const struct pt_regs *regs, unsigned int position)
{
	return regs->arch->argument(regs, memory_now(), position);
}

static inline abi_u64 regs_result(const struct pt_regs *regs)
{
	return arch_get(regs, ARCH_RESULT);
}

static inline abi_u64 regs_sp(const struct pt_regs *regs)
{
	return arch_get(regs, ARCH_SP);
}

static inline abi_u64 regs_ip(const struct pt_regs *regs)
{
	return arch_get(regs, ARCH_IP);
}

static inline abi_u64 regs_bp(const struct pt_regs *regs)
{
	return arch_get(regs, ARCH_BP);
}

/* How many bytes a return pops: the return address, if it is on the stack. */
static inline abi_u64 regs_return_pops(const struct pt_regs *regs)
{
	return regs->arch->links ? 0 : regs_word(regs);
}

#endif
