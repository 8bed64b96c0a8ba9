/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Register access for BPF programs, on processors whose calls leave the return address in a
 * register and which have all registers in one array. The including file defines their numbers
 * (REGS_FIRST, REGS_SP, REGS_PC, REGS_FRAME, REGS_LINK), their width in bits (REGS_WIDTH), and the
 * bits of a code address (REGS_ADDRESS).
 */
#ifndef MTRACE_ARCH_LINK_BPF_H
#define MTRACE_ARCH_LINK_BPF_H

#define REGS_TEXT_OF(number) #number
#define REGS_TEXT(number)    REGS_TEXT_OF(number)
#define REGS_TYPE_OF(width)  abi_u##width
#define REGS_TYPE(width)     REGS_TYPE_OF(width)

/* One load at a constant offset; see arch/x86.bpf.h. No CO-RE: the layout is user ABI. */
#ifdef __bpf__
#define REGS_LOAD(regs, number)                                              \
	({                                                                   \
		__u64 loaded;                                                \
		asm volatile("%0 = *(u" REGS_TEXT(REGS_WIDTH) " *)(%1 + %2)" \
			     : "=r"(loaded)                                  \
			     : "r"(regs), "i"((number)*REGS_WIDTH / 8));     \
		loaded;                                                      \
	})
#else
#define REGS_LOAD(regs, number) \
	((abi_u64)((const REGS_TYPE(REGS_WIDTH) *)(const void *)(regs))[number])
#endif

static __always_inline int regs_are_32bit(const struct pt_regs *regs)
{
	(void)regs;
	return REGS_WIDTH == 32;
}

static __always_inline abi_u32 regs_word(const struct pt_regs *regs)
{
	(void)regs;
	return REGS_WIDTH / 8;
}

static __always_inline abi_u64 regs_argument(const struct pt_regs *regs, unsigned int position)
{
	switch (position) {
	case 0:
		return REGS_LOAD(regs, REGS_FIRST);
	case 1:
		return REGS_LOAD(regs, REGS_FIRST + 1);
	case 2:
		return REGS_LOAD(regs, REGS_FIRST + 2);
	case 3:
		return REGS_LOAD(regs, REGS_FIRST + 3);
	case 4:
		return REGS_LOAD(regs, REGS_FIRST + 4);
	case 5:
		return REGS_LOAD(regs, REGS_FIRST + 5);
	}
	return 0;
}

static __always_inline abi_u64 regs_result(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, REGS_FIRST);
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

/* Calls leave the return address in the link register, not on the stack. */
#define REGS_LINKS 1

static __always_inline abi_u64 regs_link(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, REGS_LINK) & REGS_ADDRESS;
}

/* There are no gates (bpf/gate.bpf.h). */
static __always_inline abi_u32 regs_gate_sample(const struct pt_regs *regs)
{
	(void)regs;
	return 0;
}

/* How many bytes a return pops: none. */
static __always_inline abi_u64 regs_return_pops(const struct pt_regs *regs)
{
	(void)regs;
	return 0;
}

#endif
