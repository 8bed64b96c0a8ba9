/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable mappings of a process over time. Only the end time of a record ever changes, so a
 * stack that was taken before a library was replaced keeps its names. The clock counts changes of
 * the mappings of this process.
 */
#ifndef MTRACE_MODEL_PROCESS_MAPPING_H
#define MTRACE_MODEL_PROCESS_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/event.h"
#include "model/process/wrappers.h"

#define MAPPING_PRESENT UINT32_MAX

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t module;
	uint32_t flags;
	uint32_t from;  /* clock when it appeared … */
	uint32_t until; /* … and when it was replaced, or MAPPING_PRESENT */
};

/* An all-zero history is empty. */
struct mappings {
	VEC(struct mapping) history;
	VEC(uint32_t) present; /* indices in history; sorted by address, without overlaps */
	struct wrappers wrappers;
	uint32_t clock;
};

/* Adds a mapping, which replaces everything that it covers. Returns 0 or -ENOMEM. */
int mappings_add(struct mappings *mappings, const struct event_mapping *event);
int mappings_add_wrapper(struct mappings *mappings, const struct event_wrapper *event);

/* Returns true if a call that returns to this address comes from the code of an allocator. */
bool mappings_in_allocator(const struct mappings *mappings, uint64_t caller);
/* Returns the api that a call from a wrapper stands for; API_NONE if it is not from a wrapper. */
enum api mappings_wrapper(const struct mappings *mappings, uint64_t caller);

/* Makes *ret_copy an independent copy. Returns 0 or -ENOMEM. */
int mappings_copy(struct mappings *ret_copy, const struct mappings *mappings);
void mappings_free(struct mappings *mappings);

/* The history sorted by address, for many lookups. Valid until the mappings change. */
struct mapping_index {
	const struct mappings *mappings;
	uint32_t *by_start; /* indices in history */
	uint64_t *reach;    /* highest end of by_start[0..i] */
};

int mapping_index_new(struct mapping_index *index, const struct mappings *mappings);
/*
 * Returns the mapping of a return address at a given time. If there was none, returns the first one
 * that covered the address later: a program allocates inside ld.so before its mappings are known.
 * Returns NULL if there never was one.
 */
const struct mapping *mapping_index_find(const struct mapping_index *index, uint64_t address,
					 uint32_t clock);
void mapping_index_free(struct mapping_index *index);

#endif
