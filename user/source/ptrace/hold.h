/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Holders (os/ptrace/holder.h) of processes that the guardian traces. */
#ifndef MTRACE_SOURCE_PTRACE_HOLD_H
#define MTRACE_SOURCE_PTRACE_HOLD_H

#include "base/vec.h"
#include "os/ptrace/holder.h"
#include "source/ptrace/guardian/guardian.h"

/* Those that there are. Zeroed memory has none. */
struct holds {
	VEC(struct ptrace_hold *) list;
};

/* 0 or -errno with words. Closed by its own close, which must come before the guardian's end. */
int hold_new(struct holds *holds, struct guardian *guardian, const struct hold_request *request,
	     struct holder **ret_holder, struct error *err);
/* A child of one that is held, or can be stopped, is so too; and theirs. */
void holds_born(struct holds *holds, pid_t parent, pid_t child);
/* A process stands at its end: whoever holds it gets to know. False if nobody does. */
bool holds_at_end(const struct holds *holds, pid_t pid);
/* It has ended. */
void holds_over(const struct holds *holds, pid_t pid);
void holds_free(struct holds *holds);

#endif
