/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles stops of threads, and starts and ends the tracing of processes. */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_PROCESS_TASKS_H
#define MTRACE_SOURCE_PTRACE_TRACER_PROCESS_TASKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "source/ptrace/tracer/tracer.h"

/* Traces all threads of a running process. Returns 0 or -errno. */
int tasks_seize(struct tracer *tracer, pid_t pid);
/* Restores the original code, and detaches from all threads of a process. */
void owner_leave(struct tracer *tracer, struct owner *owner);
/* The same for all processes. Afterwards, only threads that may still be at a breakpoint are waited
 * for. */
void tasks_leave(struct tracer *tracer);
/* Returns true if a thread must be waited for before exiting. */
bool tasks_remain(const struct tracer *tracer);

/* Handles a status from waitpid. */
void task_changed(struct tracer *tracer, pid_t tid, int status);

/* Stop all threads of a process (call task_changed() until owner_is_stopped()), and resume them. */
void owner_freeze(struct tracer *tracer, struct owner *owner);
bool owner_is_stopped(const struct tracer *tracer, const struct owner *owner);
void owner_thaw(struct tracer *tracer, struct owner *owner);

#endif
