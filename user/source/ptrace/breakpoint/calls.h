/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles a thread at a breakpoint: records its call. */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_CALLS_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_CALLS_H

#include "arch/arch.h"
#include "source/ptrace/breakpoint/space.h"
#include "source/ptrace/tracer/tracer.h"

/* Creates the state of a new thread. A forked child has the pending calls of its creator, too.
 * NULL: out of memory. */
struct task_calls *task_calls_new(const struct task_calls *parent);
void task_calls_copy(struct task_calls *calls, const struct task_calls *from);
/* For a new image: no calls are pending. */
void task_calls_reset(struct task_calls *calls);

/* Handles a hit. The registers are those before the breakpoint's instruction. Returns true if the
 * thread must be held until the command has seen its mappings. */
bool calls_hit(struct tracer *tracer, struct task *task, const struct breakpoint *breakpoint,
	       const struct arch_registers *registers);

#endif
