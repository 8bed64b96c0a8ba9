/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pauses a process at its exit, and stops it earlier: does what os/ptrace/exit_watch.c does for
 * processes without a tracer, by the same rules. Each thread stops at the start of its exit; the
 * process exits when all threads are there.
 */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_PROCESS_EXIT_HOLD_H
#define MTRACE_SOURCE_PTRACE_TRACER_PROCESS_EXIT_HOLD_H

#include "os/ptrace/holder.h"
#include "source/ptrace/tracer/tracer.h"

/* A thread is stopped at PTRACE_EVENT_EXIT. Resumes it unless its process is watched. */
void exit_hold_thread(struct tracer *tracer, struct task *task);
/* A thread has exited. It may not have stopped before: a thread that is exiting while its process
 * is killed does not (kernel/signal.c: ptrace_stop, with a fatal signal pending). */
void exit_hold_thread_gone(struct tracer *tracer, struct owner *owner);
/* Rechecks threads for which it is not known whether they exit with their process or because of an
 * exec. Returns true if there are any left. */
bool exit_hold_recheck(struct tracer *tracer);

void exit_hold_watch(struct owner *owner, enum hold_from from);
/* Lets the process exit. */
void exit_hold_release(struct tracer *tracer, struct owner *owner);

/* Stores the registers of all its stopped threads in shared memory. Returns their number. */
uint32_t registers_write(const struct tracer *tracer, const struct owner *owner);

#endif
