/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How calls are booked: the heap family (heap.c) and the mmap family (map.c). Each
 * function books one event of a call into the process's books; 0 or -ENOMEM.
 */
#ifndef MTRACE_MODEL_BOOK_BOOK_H
#define MTRACE_MODEL_BOOK_BOOK_H

#include "model/event.h"
#include "model/process/state.h"

struct book {
	/* What the call will give up goes into *pending, which is new but for that. */
	int (*begin)(struct process *process, const struct event *event, struct pending *pending);
	/* The call has ended as the event says; pending is NULL if its begin was not seen. */
	int (*end)(struct process *process, const struct event *event,
		   const struct pending *pending);
	/* It will never be known how the call ended: it changed nothing, as far as we can tell. */
	int (*undo)(struct process *process, const struct pending *pending);
};

#endif
