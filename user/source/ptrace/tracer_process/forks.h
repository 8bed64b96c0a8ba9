/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How threads and processes get into the tracer process's tables: clone, fork, vfork, exec. */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_PROCESS_FORKS_H
#define MTRACE_SOURCE_PTRACE_TRACER_PROCESS_FORKS_H

#include "source/ptrace/tracer/tracer.h"

/* Handles a thread stopped at a PTRACE_EVENT_…, and resumes it unless it is held. */
void task_event(struct tracer *tracer, struct task *task, int event);
/* Handles a new process, which its parent has reported or never will. `shares`: it shares the
 * parent's memory. */
void child_created(struct tracer *tracer, const struct task *parent, pid_t child, bool shares);
/* The same if the parent has exited. `parent` stands for it, but may have breakpoints that the
 * child lacks. */
void orphan_created(struct tracer *tracer, const struct task *parent, pid_t child);
/* Returns true if the event creates a thread or process that must be handled. */
bool task_has_child(int event);
#endif
