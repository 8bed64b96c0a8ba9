/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose calls of the allocator stand for another api (operator new calls malloc), sorted
 * by address. A process may map a library with wrappers tens of thousands of times.
 */
#ifndef MTRACE_MODEL_PROCESS_WRAPPERS_H
#define MTRACE_MODEL_PROCESS_WRAPPERS_H

#include <stdint.h>

#include "base/vec.h"
#include "model/event.h"

/* All zero: empty. */
struct wrappers {
	VEC(struct event_wrapper) sorted; /* by start; aliases in the order of adding */
	uint64_t longest;                 /* size in bytes */
};

/* Does nothing if the same one is there. Returns 0 or -ENOMEM. */
int wrappers_add(struct wrappers *wrappers, const struct event_wrapper *event);
/* Removes those that overlap [start, end). */
void wrappers_drop(struct wrappers *wrappers, uint64_t start, uint64_t end);
/* Returns the api of the first wrapper that contains the call before a return address; API_NONE if
 * there is none. */
enum api wrappers_find(const struct wrappers *wrappers, uint64_t caller);
/* Copies to an empty one. Returns 0 or -ENOMEM. */
int wrappers_copy(struct wrappers *copy, const struct wrappers *wrappers);
void wrappers_free(struct wrappers *wrappers);

#endif
