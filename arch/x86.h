/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 for a tracer: registers as PTRACE_GETREGS gives them to a process of 64 bits, of threads of
 * either kind, and the instructions that a breakpoint hides.
 *
 * A breakpoint that is lifted for its instruction to run lets other threads slip past. So the
 * tracer does the instruction itself, where it is one of those that functions begin with and that
 * calls return to (x86_emulate). All others run out of line: a copy in a place of the process that
 * nobody else executes, single-stepped, with registers set right before and after it
 * (x86_line_begin, x86_line_end). An instruction whose meaning depends on where it stands beyond
 * what can be set right, or on being stepped, is for neither (X86_REFUSED).
 *
 * Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapters 2 to 5
 * and appendix A; what the kernel does for uprobes, arch/x86/kernel/uprobes.c.
 */
#ifndef MTRACE_ARCH_X86_H
#define MTRACE_ARCH_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86_BREAKPOINT 0xcc
#define X86_CODE_MAX   15 /* bytes of an instruction */

/* struct user_regs_struct of 64 bits (sys/user.h). */
struct x86_registers {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	uint64_t orig_ax, ip, cs, flags, sp, ss, fs_base, gs_base, ds, es, fs, gs;
};

/* As the kernel's user_64bit_mode() decides: by the code segment. */
static inline bool x86_is_narrow(const struct x86_registers *registers)
{
	return registers->cs != 0x33 && registers->cs != 0xe033;
}

/* The memory of the process: 0, or not if it is not accessible. */
struct x86_memory {
	int (*read)(void *ctx, uint64_t address, void *bytes, size_t size);
	int (*write)(void *ctx, uint64_t address, const void *bytes, size_t size);
	void *ctx;
};

enum x86_step {
	X86_DONE = 0,    /* the registers are those after the instruction */
	X86_OUT_OF_LINE, /* registers as before: run a copy of it */
	X86_FAULT,       /* likewise; it would fault, and may do so out of line */
	X86_REFUSED,     /* neither is possible */
};

/*
 * The instruction at registers->ip, whose bytes are given: X86_CODE_MAX of them, zeros where there
 * is no more memory.
 */
enum x86_step x86_emulate(struct x86_registers *registers, const uint8_t code[X86_CODE_MAX],
			  const struct x86_memory *memory);

/* Could x86_emulate or a copy out of line do it? Asked before a breakpoint is placed. */
bool x86_can_step(const uint8_t code[X86_CODE_MAX], bool narrow);

/* A copy that runs elsewhere. */
struct x86_line {
	uint8_t code[X86_CODE_MAX];
	uint64_t ip;     /* of the original */
	uint64_t slot;   /* of the copy */
	int lent;        /* the register that stands for the instruction pointer, or -1 … */
	uint64_t lender; /* … and what it really has */
};

/* Before the step: the copy's bytes, and the registers to run it with at `slot`. */
void x86_line_begin(struct x86_line *line, struct x86_registers *registers,
		    const uint8_t code[X86_CODE_MAX], uint64_t slot);
/* After it: what the registers would be at the instruction's own place. */
void x86_line_end(const struct x86_line *line, struct x86_registers *registers);

#endif
