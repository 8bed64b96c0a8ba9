/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the stacks of stopped threads, like bpf/unwind.bpf.h and bpf/stack.bpf.h in the kernel,
 * with the same step function, the same tables, and the same rules without tables.
 */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_WALK_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_WALK_H

#include "bpf/caller.h"
#include "source/ptrace/tracer/tracer.h"

/* Sends the frames unless they have been sent. `second_bp` is the caller's second frame pointer, on
 * processors with two conventions. Returns the stack's id, 0 if there is none. */
uint64_t walk_stack(struct tracer *tracer, struct task *task, const struct caller_frame *from,
		    uint64_t second_bp);

#endif
