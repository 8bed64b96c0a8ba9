/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread at a breakpoint: what its call was, as records. */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_CALLS_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_CALLS_H

#include "arch/arch.h"
#include "source/ptrace/breakpoint/space.h"
#include "source/ptrace/tracer/tracer.h"

/* Of a new thread; the calls that its creator has pending are in a forked child, too. NULL: no
 * memory. */
struct task_calls *task_calls_new(const struct task_calls *parent);
void task_calls_copy(struct task_calls *calls, const struct task_calls *from);
/* A new image: nothing is pending. */
void task_calls_reset(struct task_calls *calls);

/* The registers are those before the breakpoint's instruction. True if the thread shall be held
 * until the command has seen its mappings. */
bool calls_hit(struct tracer *tracer, struct task *task, const struct breakpoint *breakpoint,
	       const struct arch_registers *registers);

#endif
