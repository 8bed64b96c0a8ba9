/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How threads and processes come into the guardian's tables: clone, fork, vfork, exec. */
#ifndef MTRACE_SOURCE_PTRACE_GUARDIAN_BIRTHS_H
#define MTRACE_SOURCE_PTRACE_GUARDIAN_BIRTHS_H

#include "source/ptrace/tracer/tracer.h"

/* A thread stands at a PTRACE_EVENT_…, and goes on, unless it is held. */
void task_event(struct tracer *tracer, struct task *task, int event);
/* A process of whom its parent has told, or will not tell. shares: it has the parent's memory. */
void child_born(struct tracer *tracer, const struct task *parent, pid_t child, bool shares);
/* The same where the parent is dead, and was like this in all but breakpoints that the child lacks.
 */
void orphan_born(struct tracer *tracer, const struct task *parent, pid_t child);
/* Is that event the birth of somebody who has to be looked after? */
bool task_has_child(int event);
#endif
