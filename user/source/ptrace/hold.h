/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Holders (os/ptrace/holder.h) of processes that the tracer process traces. */
#ifndef MTRACE_SOURCE_PTRACE_HOLD_H
#define MTRACE_SOURCE_PTRACE_HOLD_H

#include "base/vec.h"
#include "os/ptrace/holder.h"
#include "source/ptrace/tracer_process/tracer_process.h"

/* All current holders. Zeroed memory is an empty list. */
struct holds {
	VEC(struct ptrace_hold *) list;
};

/* Creates a holder. Returns 0 or -errno; sets *err. Close the holder before ending the tracer
 * process. */
int hold_new(struct holds *holds, struct tracer_process *tracer_process,
	     const struct hold_request *request, struct holder **ret_holder, struct error *err);
/* Extends the holders of a process to its child. */
void holds_child_created(struct holds *holds, pid_t parent, pid_t child);
/* A process is stopped at its exit: notifies its holder. Returns false if it has none. */
bool holds_at_end(const struct holds *holds, pid_t pid);
/* The process has exited. */
void holds_over(const struct holds *holds, pid_t pid);
void holds_free(struct holds *holds);

#endif
