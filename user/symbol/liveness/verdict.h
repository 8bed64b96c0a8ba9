/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SYMBOL_LIVENESS_VERDICT_H
#define MTRACE_SYMBOL_LIVENESS_VERDICT_H

/* Callee-saved registers, in this order: rbx rbp r12 r13 r14 r15; i386: ebx ebp esi edi. */
#define LIVENESS_SAVED 6
#define LIVENESS_BP    1 /* the index of the frame pointer */

enum liveness {
	LIVENESS_DEAD,    /* overwritten first, or never read */
	LIVENESS_READ,    /* some path reads it first */
	LIVENESS_PASSED,  /* a register that the caller gets back unchanged: ask the caller's frame
			   */
	LIVENESS_UNKNOWN, /* the code cannot be analysed: counts as read */
};

#endif
