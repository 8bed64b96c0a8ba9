/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How calls change the model of a process: the heap family (heap.c) and the mmap family (map.c).
 * Each function applies one event of a call. Returns 0 or -ENOMEM.
 */
#ifndef MTRACE_MODEL_UPDATE_UPDATE_H
#define MTRACE_MODEL_UPDATE_UPDATE_H

#include "model/event.h"
#include "model/process/state.h"

struct update_ops {
	/* Stores what the call will release in *pending, whose other fields are already set. */
	int (*begin)(struct process *process, const struct event *event, struct pending *pending);
	/* Applies the end of a call. `pending` is NULL if its begin was not seen. */
	int (*end)(struct process *process, const struct event *event,
		   const struct pending *pending);
	/* Used if the end of the call will never be known: assumes that it changed nothing. */
	int (*undo)(struct process *process, const struct pending *pending);
};

#endif
