/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a process: return addresses, known by the ids that the source gave them. A source
 * may send a stack again, under its id (its memory of what it sent is bounded) or under another
 * (where ids are of samples): the same frames, taken when the same code was mapped, with the same
 * end, are one stack.
 */
#ifndef MTRACE_MODEL_STACK_H
#define MTRACE_MODEL_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "model/event.h"

struct stack {
	size_t first;     /* index of the direct caller in frames */
	uint32_t count;   /* at least 1 */
	uint32_t clock;   /* of the mappings, when it was first seen */
	uint32_t site;    /* the first of its sites, chained by struct site's next; SITE_NONE */
	uint8_t wrapper;  /* enum api: what the outermost of its wrappers is; see wrappers */
	uint8_t wrappers; /* frames at its beginning that lie in wrappers; valid once it has a site
			   */
	uint8_t stop;     /* enum stack_stop, or STOP_NOT_TAKEN */
	bool truncated;   /* known to go on */
	bool guessed;     /* a frame pointer was believed on the way */
	bool placeholder; /* the source never sent it: known by its caller only */
};

/* Zeroed memory is an empty set. */
struct stacks {
	VEC(struct stack) items;
	VEC(uint64_t) frames;
	struct map64 by_id;
	struct map64 by_content; /* hash; of two stacks with one hash, the first alone */
	struct map64 by_caller;  /* calls without a stack */
	uint64_t lost;           /* placeholders ever made */
	uint64_t truncated;      /* stacks that came truncated, each once */
};

/* Enter a stack as announced by the source. 0 or -ENOMEM. */
int stacks_add(struct stacks *stacks, const struct event *event, uint32_t clock);

/* The index of a call's stack. Where it has none it is the caller alone. 0 or -ENOMEM. */
int stacks_of_call(struct stacks *stacks, const struct event_call *call, uint32_t clock,
		   uint32_t *ret_index);

void stacks_free(struct stacks *stacks);

#endif
