/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 register access for BPF programs: arguments, result, stack pointer, instruction pointer
 * (System V ABI, AMD64, 3.2.3, and i386, 2.2; struct pt_regs of arch/x86/include/asm/ptrace.h).
 *
 * A 64-bit kernel runs 64-bit and 32-bit programs, and a program may switch. The code segment tells
 * which kind of code makes a call. For a 64-bit call that is one comparison; the code for 32-bit
 * calls is out of line.
 */
#ifndef MTRACE_ARCH_X86_BPF_H
#define MTRACE_ARCH_X86_BPF_H

/* One load at a constant offset: the verifier rejects computed pointers into the context, and the
 * compiler would compute one for the switch below. The layout is user ABI (ptrace), so it needs no
 * CO-RE relocation. */
#define REGS_LOAD(regs, field)                                                             \
	({                                                                                 \
		__u64 loaded;                                                              \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                                      \
			     : "=r"(loaded)                                                \
			     : "r"(regs), "i"(__builtin_offsetof(struct pt_regs, field))); \
		loaded;                                                                    \
	})

#define CODE_64     0x33   /* __USER_CS (asm/segment.h) */
#define CODE_64_XEN 0xe033 /* FLAT_USER_CS64 (xen/interface/xen-x86_64.h) */

/* Like the kernel's user_64bit_mode(). */
static __always_inline int regs_are_32bit(const struct pt_regs *regs)
{
	__u16 segment = REGS_LOAD(regs, cs);

	return segment != CODE_64 && segment != CODE_64_XEN;
}

static __always_inline __u32 regs_word(const struct pt_regs *regs)
{
	return regs_are_32bit(regs) ? 4 : 8;
}

/* Arguments start above the return address. */
static __noinline __u64 stack_argument(__u64 sp, __u32 position)
{
	__u32 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)(sp + (position + 1) * sizeof(word)));
	return word;
}

static __always_inline __u64 regs_argument(const struct pt_regs *regs, unsigned int position)
{
	if (regs_are_32bit(regs))
		return stack_argument(REGS_LOAD(regs, sp), position);
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
	__u64 result = REGS_LOAD(regs, ax);

	return regs_are_32bit(regs) ? (__u32)result : result;
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
	__u64 bp = REGS_LOAD(regs, bp);

	return regs_are_32bit(regs) ? (__u32)bp : bp;
}

/* The sample of a call that has passed a gate (bpf/gate.bpf.h): only in 64-bit code. */
static __always_inline __u32 regs_gate_sample(const struct pt_regs *regs)
{
	return REGS_LOAD(regs, r11);
}

#define REGS_ADDRESS          (~0ULL) /* the bits of a user space address */
#define REGS_USER_END         (1ULL << 47)
#define REGS_UNWIND_ABI       unwind_abi_x86_64
#define REGS_UNWIND_ABI_32BIT unwind_abi_i386
#define REGS_GUESSES          1 /* walk code without tables by frame pointers */

/* Calls leave the return address on the stack, not in a register. */
#define REGS_LINKS 0

static __always_inline __u64 regs_link(const struct pt_regs *regs)
{
	(void)regs;
	return 0;
}

/* How many bytes a return pops: the return address. */
static __always_inline __u64 regs_return_pops(const struct pt_regs *regs)
{
	return regs_word(regs);
}

#endif
