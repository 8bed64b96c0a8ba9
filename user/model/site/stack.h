/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a process: return addresses, known by the ids that the source gave them. A source
 * may send a stack again, under its id (its memory of what it sent is bounded) or under another
 * (where ids are of samples): the same frames, taken when the same code was mapped, with the same
 * end, are one stack.
 *
 * A process has so many stacks at most; calls from any other are known to come from `other` stacks.
 */
#ifndef MTRACE_MODEL_SITE_STACK_H
#define MTRACE_MODEL_SITE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cow.h"
#include "model/event.h"
#include "model/site/frames.h"

struct stack {
	const uint64_t *frames; /* the direct caller first */
	uint32_t count;         /* 0 for other stacks */
	uint32_t clock;         /* of the mappings, when it was first seen */
	uint32_t site;    /* the first of its sites, chained by struct site's next; SITE_NONE */
	uint8_t wrapper;  /* enum api: what the outermost of its wrappers is; see wrappers */
	uint8_t wrappers; /* frames at its beginning that lie in wrappers; valid once it has a site
			   */
	uint8_t stop;     /* enum stack_stop, or STOP_NOT_TAKEN */
	bool truncated;   /* known to go on */
	bool guessed;     /* a frame pointer was believed on the way */
	bool placeholder; /* the source never sent it: known by its caller only */
	bool other;       /* stands for all that were too many to be kept */
};

/* Zeroed memory is an empty set, but for max. */
struct stacks {
	uint32_t max;               /* stacks kept */
	uint32_t other;             /* index + 1 of the other stacks, once there are any */
	struct cow_array items;     /* of struct stack */
	struct frame_store *frames; /* of all stacks */
	struct cow_map by_id;
	struct cow_map by_content; /* hash; of two stacks with one hash, the first alone */
	struct cow_map by_caller;  /* calls without a stack */
	uint64_t lost;             /* placeholders ever made */
	uint64_t truncated;        /* stacks that came truncated, each once */
};

static inline const struct stack *stack_at(const struct stacks *stacks, uint32_t index)
{
	return cow_read(&stacks->items, index, sizeof(struct stack));
}

/* The same to change it; NULL if out of memory. */
static inline struct stack *stack_change(struct stacks *stacks, uint32_t index)
{
	return cow_write(&stacks->items, index, sizeof(struct stack));
}

/* Enter a stack as announced by the source. 0 or -ENOMEM. */
int stacks_add(struct stacks *stacks, const struct event *event, uint32_t clock);

/*
 * The index of a call's stack: where it has none that of its caller alone, and that of other stacks
 * if it was not kept. 0 or -ENOMEM.
 */
int stacks_of_call(struct stacks *stacks, const struct event_call *call, uint32_t clock,
		   uint32_t *ret_index);

/* The index of other stacks. 0 or -ENOMEM. */
int stacks_other(struct stacks *stacks, uint32_t *ret_index);

/*
 * For stacks that are kept elsewhere, and become the same ones here, in their order. Can a stack be
 * found by its content? Enter it, with a copy of its frames; and an id of it. 0 or -ENOMEM.
 */
bool stacks_is_shared(const struct stacks *stacks, uint32_t index);
int stacks_enter(struct stacks *stacks, struct stack stack, bool shared);
int stacks_enter_id(struct stacks *stacks, uint64_t id, uint32_t index);

/* *ret_copy: what a child starts with; of what is counted here, nothing. 0 or -ENOMEM. */
int stacks_copy(struct stacks *ret_copy, const struct stacks *stacks);
/* No stack will be looked for any more. */
void stacks_close(struct stacks *stacks);
void stacks_free(struct stacks *stacks);

#endif
