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
#define REGS_RESULT  3
#define REGS_FRAME   31
#define REGS_PC      32
#define REGS_LINK    36
#define REGS_ADDRESS 0xfffffffcULL /* the bits of an address of code */

/* One load at a constant offset, see arch/x86.bpf.h. Not CO-RE's: the layout is user ABI. */
#ifdef __bpf__
#define REGS_LOAD(regs, number)                             \
	({                                                  \
		__u64 loaded;                               \
		asm volatile("%0 = *(u32 *)(%1 + %2)"       \
			     : "=r"(loaded)                 \
			     : "r"(regs), "i"((number)*4)); \
		loaded;                                     \
	})
#else
#define REGS_LOAD(regs, number) ((abi_u64)((const abi_u32 *)(const void *)(regs))[number])
#endif

static __always_inline int regs_is_narrow(const struct pt_regs *regs)
{
	(void)regs;
	return 1;
}

static __always_inline abi_u32 regs_word(const struct pt_regs *regs)
{
	(void)regs;
	return 4;
}

static __always_inline abi_u64 regs_argument(const struct pt_regs *regs, unsigned int position)
{
	switch (position) {
	case 0:
		return REGS_LOAD(regs, 3);
	case 1:
		return REGS_LOAD(regs, 4);
	case 2:
		return REGS_LOAD(regs, 5);
	case 3:
		return REGS_LOAD(regs, 6);
	case 4:
		return REGS_LOAD(regs, 7);
	case 5:
		return REGS_LOAD(regs, 8);
	}
	return 0;
}

static __always_inline abi_u64 regs_result(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, REGS_RESULT);
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

#define REGS_USER_END          (1ULL << 32)
#define REGS_UNWIND_ABI        unwind_abi_powerpc
#define REGS_UNWIND_ABI_NARROW unwind_abi_powerpc
#define REGS_GUESSES           0 /* is code without tables walked by frame pointers? */

#endif
