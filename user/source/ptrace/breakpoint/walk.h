/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of threads that stand: what bpf/unwind.bpf.h and bpf/stack.bpf.h are in the kernel, with
 * the same step function, the same tables and the same rules where there is none.
 */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_WALK_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_WALK_H

#include "bpf/caller.h"
#include "source/ptrace/tracer/tracer.h"

/* Sends the frames, unless that was done. `second_bp`: where there are two conventions for frame
 * pointers, the caller's other one. The stack's id, 0 if there is none. */
uint64_t walk_stack(struct tracer *tracer, struct task *task, const struct caller_frame *from,
		    uint64_t second_bp);

#endif
