/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The common parts of all stack walks: in BPF, by ptrace, and from a stack dump. */
#ifndef MTRACE_BPF_WALK_H
#define MTRACE_BPF_WALK_H

#include "arch/unwind.h"
#include "bpf/abi.h"

#define CALL_OPCODE     0xe8 /* x86: call rel32 */
#define GUESS_FRAME_MAX (1 << 16)
#define START_FRAME_MAX 512
#define LOWEST_CODE     0x10000ULL

/* Why a walk stops after a step that did not continue. */
static __always_inline enum stack_stop stop_of(enum unwind_result result)
{
	switch (result) {
	case UNWIND_END:
		return STOP_END;
	case UNWIND_INTERRUPTED:
		return STOP_SIGNAL;
	case UNWIND_NO_TABLE:
		return STOP_NO_TABLE;
	case UNWIND_UNREADABLE:
		return STOP_READ;
	default:
		return STOP_NO_ROW;
	}
}

#endif
