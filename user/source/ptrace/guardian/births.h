/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How threads and processes come into the guardian's tables: clone, fork, vfork, exec. */
#ifndef MTRACE_SOURCE_PTRACE_GUARDIAN_BIRTHS_H
#define MTRACE_SOURCE_PTRACE_GUARDIAN_BIRTHS_H

#include "source/ptrace/guardian/tasks.h"

int owner_new(struct tracer *tracer, pid_t pid, struct space *memory, struct owner **ret_owner);
void owner_remove(struct tracer *tracer, struct owner *owner);
int task_new(struct tracer *tracer, pid_t tid, struct owner *owner,
	     const struct task_calls *inherited, struct task **ret_task);
void task_remove(struct tracer *tracer, struct task *task);
void task_let_go(struct tracer *tracer, struct task *task, int signal);
/* It stands until the command says that it may go on. */
void task_hold(struct tracer *tracer, struct task *task);
/* The last word about a process: RECORD_EXIT or RECORD_LEAVE. */
void owner_gone(struct tracer *tracer, struct owner *owner, enum record_kind kind, int status);

/* A thread stands at a PTRACE_EVENT_…, and goes on, unless it is held. */
void task_event(struct tracer *tracer, struct task *task, int event);
/* A process of whom its parent has told, or will not tell. shares: it has the parent's memory. */
void child_born(struct tracer *tracer, const struct task *parent, pid_t child, bool shares);
/* The same where the parent is dead, and was like this in all but breakpoints that the child lacks.
 */
void orphan_born(struct tracer *tracer, const struct task *parent, pid_t child);
/* Is that event the birth of somebody who has to be looked after? */
bool task_has_child(int event);
/* On which processor a thread ran last; -1 if that cannot be told. */
int task_processor(pid_t pid, pid_t tid);
/* What is to be known of a process's image. */
void owner_look(struct owner *owner);

#endif
