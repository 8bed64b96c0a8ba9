/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracer process's table of processes (owners) and threads (tasks). */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_PROCESS_TABLE_H
#define MTRACE_SOURCE_PTRACE_TRACER_PROCESS_TABLE_H

#include "source/ptrace/tracer/tracer.h"

/* NULL if there is none. */
struct task *task_find(const struct tracer *tracer, pid_t tid);
struct owner *owner_find(const struct tracer *tracer, pid_t pid);
/* Returns true if any of its threads is in that state. */
bool owner_has(const struct tracer *tracer, const struct owner *owner, enum task_state state);

/* Adds a process. Takes the reference of the memory. 0 or -ENOMEM. */
int owner_new(struct tracer *tracer, pid_t pid, struct space *memory, struct owner **ret_owner);
/* Removes and frees a process that has no threads any more. */
void owner_remove(struct tracer *tracer, struct owner *owner);
/* A process, or its image, has ended: remembers its breakpoints for orphans.h. Takes its reference
 * of the memory. */
void owner_bury(struct tracer *tracer, const struct owner *owner);
/* Writes the last record about a process: RECORD_EXIT or RECORD_LEAVE. */
void owner_gone(struct tracer *tracer, struct owner *owner, enum record_kind kind, int status);

/* Adds a thread, with the pending calls of its creator (or NULL). `owner` is NULL while its process
 * is not known. 0 or -ENOMEM. */
int task_new(struct tracer *tracer, pid_t tid, struct owner *owner,
	     const struct task_calls *inherited, struct task **ret_task);
/* Removes and frees a thread. */
void task_remove(struct tracer *tracer, struct task *task);
/* Lets a stopped thread run on, with a signal or (0) without. */
void task_continue(struct task *task, int signal);
/* Detaches from a stopped thread and removes it, and after the last thread also its process. */
void task_let_go(struct tracer *tracer, struct task *task, int signal);
/* Leaves a thread stopped until the command resumes it. */
void task_hold(struct tracer *tracer, struct task *task);

#endif
