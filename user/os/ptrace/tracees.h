/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of a process that one of our threads traces from their start to their exit. */
#ifndef MTRACE_OS_PTRACE_TRACEES_H
#define MTRACE_OS_PTRACE_TRACEES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/map64.h"
#include "base/vec.h"
#include "os/ptrace/seize.h"
#include "os/ptrace/tracee.h"

struct registers_layout;

enum tracee_state {
	TRACEE_RUNS,
	TRACEE_STOPPED,
	TRACEE_EXITING, /* in its exit stop; whether the process exits is undecided */
	TRACEE_HELD,    /* in its exit stop, and the process exits */
	TRACEE_GONE,    /* continued from its exit stop; its tid may be reused */
};

struct tracee {
	pid_t tid;
	enum tracee_state state;
	int signal;                            /* to deliver when it continues, or 0 */
	bool listen;                           /* stopped by job control, and must stay so */
	const struct registers_layout *layout; /* only for an exiting thread */
};

/* To start with, all fields are zero except pid. All functions must be called by the tracing
 * thread. */
struct tracees {
	pid_t pid;
	bool family; /* also trace its children from their start */
	bool unseen; /* a thread has exited without an exit stop */
	VEC(struct tracee) list;
	struct map64 index; /* by tid */
};

/* The registers of several threads. */
struct tracee_set {
	VEC(struct thread_registers) registers;
};

/* Traces all threads and those that they create; see seize(). All are entered as running, including
 * those that are stopped in the result. */
int tracees_seize(struct tracees *tracees, struct seizure *ret_seizure, struct error *err);
/* Detaches from stopped threads. Running ones are detached when the tracing thread exits. */
void tracees_detach(struct tracees *tracees);
void tracees_free(struct tracees *tracees);

struct tracee *tracees_find(const struct tracees *tracees, pid_t tid); /* NULL if unknown */
/* Adds a thread as running, or resets a known one. Returns 0 or -ENOMEM. */
int tracees_add(struct tracees *tracees, pid_t tid);
void tracees_remove(struct tracees *tracees, pid_t tid);
/*
 * Removes a thread that has exited. If two threads call exit_group(2) at once, one of them is
 * killed before its exit stop, and the kernel then leaves that out (ptrace_stop in
 * kernel/signal.c).
 */
void tracees_exited(struct tracees *tracees, pid_t tid);
bool tracees_any(const struct tracees *tracees, enum tracee_state state);
/* Returns true if the process has a thread with that id. */
bool tracees_owns(const struct tracees *tracees, pid_t tid);

/* Continues the thread from any kind of stop. */
void tracee_resume(struct tracee *tracee);
void tracees_resume(struct tracees *tracees);

/* Reads the registers of all stopped threads, replacing the contents of `set`. An all-zero entry
 * stands for threads that have exited unseen. Returns 0 or -ENOMEM. */
int tracees_read(const struct tracees *tracees, struct tracee_set *set);
void tracee_set_free(struct tracee_set *set);

#endif
