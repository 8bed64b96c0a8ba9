/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers that functions preserve for their callers, of a stopped thread. x86 only: System V
 * ABI, AMD64 (3.2.1) and Intel386 (2.3).
 */
#ifndef MTRACE_OS_PTRACE_CALLEE_SAVED_H
#define MTRACE_OS_PTRACE_CALLEE_SAVED_H

#include <stdbool.h>
#include <stdint.h>

#include "os/ptrace/tracee.h"

#define CALLEE_SAVED_MAX 6
#define CALLEE_SAVED_BP  1 /* the index of the frame pointer */

struct callee_saved {
	uint64_t pc;
	uint64_t sp;
	uint32_t word;                      /* bytes of a register: 8 or 4 */
	uint32_t count;                     /* 6; 4 in 32-bit code */
	uint64_t values[CALLEE_SAVED_MAX];  /* rbx rbp r12 r13 r14 r15, or ebx ebp esi edi */
	uint16_t offsets[CALLEE_SAVED_MAX]; /* of each in thread_registers.bytes */
};

/* Returns false for a thread without registers, or of another processor. */
bool callee_saved_read(const struct thread_registers *registers, struct callee_saved *ret_saved);

#endif
