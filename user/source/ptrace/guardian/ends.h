/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holding a process at its end, and stopping it before: what os/ptrace/exit_watch.c does for
 * processes that nobody traces, with its rules. Each thread stops at the beginning of its exit; the
 * end of the process is when all stand there.
 */
#ifndef MTRACE_SOURCE_PTRACE_GUARDIAN_ENDS_H
#define MTRACE_SOURCE_PTRACE_GUARDIAN_ENDS_H

#include "os/ptrace/holder.h"
#include "source/ptrace/tracer/tracer.h"

/* A thread stands at PTRACE_EVENT_EXIT. It goes on, unless its process is watched. */
void ends_thread(struct tracer *tracer, struct task *task);
/* Another has ended. Not each stands before: one that exits while its process is made to does not
 * (kernel/signal.c: ptrace_stop, of who has a fatal signal pending). */
void ends_thread_gone(struct tracer *tracer, struct owner *owner);
/* Threads that wait until it is known whether they exit with their process or because of an exec:
 * look again. Are there any? */
bool ends_look(struct tracer *tracer);

void ends_watch(struct owner *owner, enum hold_from from);
/* It may end. */
void ends_release(struct tracer *tracer, struct owner *owner);

/* The registers of all its threads that stand, into the shared memory: how many. */
uint32_t registers_tell(const struct tracer *tracer, const struct owner *owner);

#endif
