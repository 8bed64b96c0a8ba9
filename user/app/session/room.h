/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the model small enough for the memory that is there: what --max-memory leaves, or else what
 * the machine and the limits of our cgroups leave. That changes, because the traced programs may be
 * in the same cgroup, so it is measured once a second.
 */
#ifndef MTRACE_APP_SESSION_ROOM_H
#define MTRACE_APP_SESSION_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct model;

struct room {
	uint64_t max_memory; /* of this program, in bytes (--max-memory); 0: what is available */
	uint64_t measured_ns;
	bool warned;
};

/*
 * Sets the limit of the model if that was last done a second ago. Warns on standard error when the
 * model begins to sample.
 */
void room_measure(struct room *room, struct model *model);

#endif
