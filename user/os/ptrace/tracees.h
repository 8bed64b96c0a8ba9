/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of a process that one thread of ours traces for long, each from its birth to its end.
 */
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
	TRACEE_EXITING, /* in its exit stop, and it is not known whether it is the end */
	TRACEE_HELD,    /* in its exit stop, at the end */
	TRACEE_GONE,    /* let go from there; its tid may come again */
};

struct tracee {
	pid_t tid;
	enum tracee_state state;
	int signal;                            /* to be delivered when it goes on, or 0 */
	bool listen;                           /* it is stopped by job control, and shall stay so */
	const struct registers_layout *layout; /* of one that exits */
};

/* Zeroed memory with a pid is an empty set. All functions are for the tracing thread. */
struct tracees {
	pid_t pid;
	bool family; /* its children are to be traced from their birth, too */
	VEC(struct tracee) list;
	struct map64 index; /* by tid */
};

/* A vector of registers. */
struct tracee_set {
	VEC(struct thread_registers) registers;
};

/* Trace all threads, and those that they give birth to; as seize. All count as running, also those
 * that stand in the result. */
int tracees_seize(struct tracees *tracees, struct seizure *ret_seizure, struct error *err);
/* Those that have stopped go on as if they had not; what runs is let go when the thread ends. */
void tracees_detach(struct tracees *tracees);
void tracees_free(struct tracees *tracees);

struct tracee *tracees_find(const struct tracees *tracees, pid_t tid); /* NULL if unknown */
/* Running; also one that is known. 0 or -ENOMEM. */
int tracees_add(struct tracees *tracees, pid_t tid);
void tracees_remove(struct tracees *tracees, pid_t tid);
bool tracees_any(const struct tracees *tracees, enum tracee_state state);
/* Does a thread of that id belong to the process? */
bool tracees_owns(const struct tracees *tracees, pid_t tid);

/* Let it go on from whatever stop. */
void tracee_resume(struct tracee *tracee);
void tracees_resume(struct tracees *tracees);

/* The registers of all that have stopped; what was in the set is replaced. 0 or -ENOMEM. */
int tracees_read(const struct tracees *tracees, struct tracee_set *set);
void tracee_set_free(struct tracee_set *set);

#endif
