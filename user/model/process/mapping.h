/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What code lay where, and when. A mapping's record is never changed but for its end in time, so
 * that a stack seen before a library was replaced by another keeps its names. The clock counts
 * changes of the mappings of this process.
 */
#ifndef MTRACE_MODEL_PROCESS_MAPPING_H
#define MTRACE_MODEL_PROCESS_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/event.h"

#define MAPPING_PRESENT UINT32_MAX

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t module;
	uint32_t flags;
	uint32_t from;  /* clock when it came … */
	uint32_t until; /* … and when it was replaced, or MAPPING_PRESENT */
};

/* Zeroed memory is an empty history. */
struct mappings {
	VEC(struct mapping) history;
	VEC(uint32_t) present; /* indices in history, ordered by address, without overlap */
	VEC(struct event_wrapper) wrappers;
	uint32_t clock;
};

/* Enter a mapping; what it covers is replaced. 0 or -ENOMEM. */
int mappings_add(struct mappings *mappings, const struct event_mapping *event);
int mappings_add_wrapper(struct mappings *mappings, const struct event_wrapper *event);

/* Does a call that returns to this address come from an allocator's own code? */
bool mappings_in_allocator(const struct mappings *mappings, uint64_t caller);
/* The api that a call from a wrapper stands for; API_NONE if it comes from elsewhere. */
enum api mappings_wrapper(const struct mappings *mappings, uint64_t caller);

/* *ret_copy: a history of its own, so far the same. 0 or -ENOMEM. */
int mappings_copy(struct mappings *ret_copy, const struct mappings *mappings);
void mappings_free(struct mappings *mappings);

/* The history by address, for many lookups. Valid until the mappings change. */
struct mapping_index {
	const struct mappings *mappings;
	uint32_t *by_start; /* indices in history */
	uint64_t *reach;    /* the highest end among by_start[0..i] */
};

int mapping_index_new(struct mapping_index *index, const struct mappings *mappings);
/*
 * The mapping that a return address belonged to at a time; if there was none, the first that came
 * to cover it later: a program allocates inside ld.so before its mappings are known. NULL if none
 * ever did.
 */
const struct mapping *mapping_index_find(const struct mapping_index *index, uint64_t address,
					 uint32_t clock);
void mapping_index_free(struct mapping_index *index);

#endif
