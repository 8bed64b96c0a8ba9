/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder: one step from a stack frame to its caller's, driven by rows that were compiled from
 * a module's call frame information (user/symbol/cfi_table.h). It is compiled into the BPF programs
 * and into user space, so that the tests compare the same code with libdw that runs in the kernel.
 *
 * The idea. Optimised code keeps no frame pointer. For every address the compiler leaves a rule in
 * .eh_frame. It says where the canonical frame address (CFA) is, the value of the stack pointer
 * before the call, and where the caller's registers are relative to it. A call chain only needs
 * three registers: the return address, the stack pointer, which is the CFA itself, and the frame
 * pointer, because some functions define their CFA by it. On every machine in the table below, the
 * return address of a function that has called another is at a fixed distance from the CFA. So a
 * rule fits into 8 bytes, and a step is one addition and one read from the stack.
 *
 * A row describes the code from its file offset up to the next row. File offsets, unlike addresses,
 * are the same in every process. A return address points past its call, which may be the last
 * instruction of the function: look up return address - 1, except for the instruction pointer of an
 * interrupted frame (the first one, and after UNWIND_INTERRUPTED).
 *
 * The caller's frame pointer is only read when a row needs it (bp_place): most stacks of optimised
 * code never do.
 *
 * Invariants
 * - If a row cannot describe a rule exactly, it is UNWIND_CFA_STOP, which ends the stack.
 * - Each step raises the stack pointer, so a walk ends. Only a signal frame may lead elsewhere (to
 *   the stack from which an alternate one was entered); the walker's frame limit bounds those.
 * - After any result except CONTINUE and INTERRUPTED, the frame is unchanged, except that a saved
 *   frame pointer may have been read.
 *
 * Cost: one read, or two if a frame pointer or a dereferenced CFA is needed; no loops.
 *
 * Sources: DWARF 5, 6.4 (call frame information); Linux Standard Base Core 5.0, 10.6 (.eh_frame);
 * System V ABI, AMD64, 3.2.2, 3.4.1, 6.2, and i386, 2.3; struct sigcontext of
 * arch/x86/include/uapi/asm/sigcontext.h.
 *
 * The including file may be a BPF program: no library, no loop without a constant bound. It
 * provides unwind_read().
 */
#ifndef MTRACE_ARCH_UNWIND_H
#define MTRACE_ARCH_UNWIND_H

#include "arch/unwind_row.h"

enum unwind_bp_place {
	UNWIND_BP_HELD = 0,  /* bp is the frame pointer */
	UNWIND_BP_IN_MEMORY, /* bp is the address at which it is saved */
	UNWIND_BP_UNKNOWN,
};

struct unwind_frame {
	abi_u64 ip; /* the return address; in an interrupted frame, the next instruction */
	abi_u64 sp;
	abi_u64 bp;
	abi_u64 bp_place; /* enum unwind_bp_place */
};

enum unwind_result {
	UNWIND_CONTINUE = 0, /* the frame is the caller's */
	UNWIND_INTERRUPTED,  /* a frame that a signal interrupted: look up ip, unpruned */
	UNWIND_END,          /* there is no caller: the stack is complete */
	UNWIND_NO_RULE,      /* UNWIND_CFA_STOP */
	UNWIND_NO_TABLE,     /* UNWIND_CFA_GAP */
	UNWIND_NO_BP,        /* the row needs the frame pointer, which is lost */
	UNWIND_UNREADABLE,   /* memory could not be read */
	UNWIND_NO_PROGRESS,  /* the CFA is not above sp */
};

/* Provided by the including file: reads a word (of abi->word bytes, in the target's byte order) at
 * an address of the target. Returns 0, or nonzero on failure. */
static int unwind_read(void *ctx, const struct unwind_abi *abi, abi_u64 address, abi_u64 *ret_word);

static __always_inline abi_u64 unwind_words(const struct unwind_abi *abi, int words)
{
	return (abi_u64)(long long)(words * abi->word);
}

/* Reads the frame pointer into frame->bp if it is still in memory. */
static __always_inline enum unwind_result unwind_load_bp(void *ctx, const struct unwind_abi *abi,
							 struct unwind_frame *frame)
{
	abi_u64 bp = 0;

	if (frame->bp_place == UNWIND_BP_HELD)
		return UNWIND_CONTINUE;
	if (frame->bp_place != UNWIND_BP_IN_MEMORY)
		return UNWIND_NO_BP;
	if (unwind_read(ctx, abi, frame->bp, &bp))
		return UNWIND_UNREADABLE;
	frame->bp = bp;
	frame->bp_place = UNWIND_BP_HELD;
	return UNWIND_CONTINUE;
}

static __always_inline int unwind_needs_bp(const struct unwind_row *row)
{
	return (row->kinds & UNWIND_CFA_BASE_BP) || unwind_row_bp(row) == UNWIND_BP_AT_BP;
}

/* Computes the CFA. The caller has loaded frame->bp if the row needs it. */
static __always_inline enum unwind_result unwind_cfa(void *ctx, const struct unwind_abi *abi,
						     const struct unwind_row *row,
						     const struct unwind_frame *frame,
						     abi_u64 *ret_cfa)
{
	enum unwind_cfa kind = unwind_row_cfa(row);
	abi_u64 cfa = kind & UNWIND_CFA_BASE_BP ? frame->bp : frame->sp;

	cfa += unwind_words(abi, row->cfa_offset);
	if (kind & UNWIND_CFA_LOAD && unwind_read(ctx, abi, cfa, &cfa))
		return UNWIND_UNREADABLE;
	if (kind == UNWIND_CFA_PLT)
		cfa += (int)(frame->ip & 15) >= row->bp_offset ? abi->word : 0;
	else if (kind & UNWIND_CFA_ADD_WORD)
		cfa += abi->word;
	*ret_cfa = cfa;
	return UNWIND_CONTINUE;
}

static __always_inline void unwind_pass_bp(const struct unwind_abi *abi,
					   const struct unwind_row *row, abi_u64 cfa,
					   struct unwind_frame *frame)
{
	switch (unwind_row_bp(row)) {
	case UNWIND_BP_SAME:
		break;
	case UNWIND_BP_AT_CFA:
		frame->bp = cfa + unwind_words(abi, row->bp_offset);
		frame->bp_place = UNWIND_BP_IN_MEMORY;
		break;
	case UNWIND_BP_AT_BP:
		frame->bp += unwind_words(abi, row->bp_offset);
		frame->bp_place = UNWIND_BP_IN_MEMORY;
		break;
	default:
		frame->bp_place = UNWIND_BP_UNKNOWN;
	}
}

/* The kernel wrote all registers of the interrupted code to the stack. */
static __always_inline enum unwind_result unwind_signal(void *ctx, const struct unwind_abi *abi,
							const struct unwind_row *row,
							struct unwind_frame *frame)
{
	abi_u64 saved = frame->sp + unwind_words(abi, row->cfa_offset);
	abi_u64 ip = 0, sp = 0;

	if (unwind_read(ctx, abi, saved, &sp) ||
	    unwind_read(ctx, abi, saved + (abi_u64)(long long)abi->signal_ip, &ip))
		return UNWIND_UNREADABLE;
	frame->ip = ip;
	frame->sp = sp;
	frame->bp = saved + (abi_u64)(long long)abi->signal_bp;
	frame->bp_place = UNWIND_BP_IN_MEMORY;
	return UNWIND_INTERRUPTED;
}

static __always_inline enum unwind_result unwind_special(void *ctx, const struct unwind_abi *abi,
							 const struct unwind_row *row,
							 struct unwind_frame *frame)
{
	switch (unwind_row_cfa(row)) {
	case UNWIND_CFA_SIGNAL:
		return unwind_signal(ctx, abi, row, frame);
	case UNWIND_CFA_END:
		return UNWIND_END;
	case UNWIND_CFA_GAP:
		return UNWIND_NO_TABLE;
	default:
		return UNWIND_NO_RULE;
	}
}

/*
 * Steps from a frame to its caller's, by the row of the frame's code. A return address of 0 marks
 * the end in runtimes without call frame information (System V ABI, AMD64, 3.4.1).
 */
static __always_inline enum unwind_result unwind_step(void *ctx, const struct unwind_abi *abi,
						      const struct unwind_row *row,
						      struct unwind_frame *frame)
{
	enum unwind_result result = UNWIND_CONTINUE;
	abi_u64 cfa = 0, ip = 0;

	if (unwind_row_cfa(row) >= UNWIND_CFA_END)
		return unwind_special(ctx, abi, row, frame);
	if (unwind_needs_bp(row))
		result = unwind_load_bp(ctx, abi, frame);
	if (result == UNWIND_CONTINUE)
		result = unwind_cfa(ctx, abi, row, frame, &cfa);
	if (result != UNWIND_CONTINUE)
		return result;
	if (cfa <= frame->sp)
		return UNWIND_NO_PROGRESS;
	if (unwind_read(ctx, abi, cfa + (abi_u64)(long long)abi->return_offset, &ip))
		return UNWIND_UNREADABLE;
	if (!ip)
		return UNWIND_END;
	unwind_pass_bp(abi, row, cfa, frame);
	frame->ip = ip;
	frame->sp = cfa;
	return UNWIND_CONTINUE;
}

#endif
