/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guardian does when a thread stops, and how it begins and ends to trace a process. */
#ifndef MTRACE_SOURCE_PTRACE_GUARDIAN_TASKS_H
#define MTRACE_SOURCE_PTRACE_GUARDIAN_TASKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "source/ptrace/tracer/tracer.h"

/* Trace all threads of a running process. 0 or -errno. */
int tasks_seize(struct tracer *tracer, pid_t pid);
/* Put the original code back, and let go of all threads of a process. */
void owner_leave(struct tracer *tracer, struct owner *owner);
/* The same for all; then only threads that may be at a breakpoint still are waited for. */
void tasks_leave(struct tracer *tracer);
/* Is there a thread that has to be waited for before we may end? */
bool tasks_remain(const struct tracer *tracer);

/* What waitpid told. */
void task_changed(struct tracer *tracer, pid_t tid, int status);

/* All threads of a process stop (call task_changed until owner_stands), and go on. */
void owner_freeze(struct tracer *tracer, struct owner *owner);
bool owner_stands(const struct tracer *tracer, const struct owner *owner);
void owner_thaw(struct tracer *tracer, struct owner *owner);

#endif
