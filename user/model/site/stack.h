/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a process: return addresses, identified by ids from the source. A source may send a
 * stack again under the same id (its memory of what it sent is bounded) or under another one (if
 * ids number samples). Stacks with the same frames, taken when the same code was mapped, and with
 * the same end, are one stack.
 *
 * A process has a limited number of stacks; calls from any further stack are attributed to the
 * `other` stacks.
 */
#ifndef MTRACE_MODEL_SITE_STACK_H
#define MTRACE_MODEL_SITE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cow.h"
#include "model/event.h"
#include "model/site/frames.h"

struct stack {
	const uint64_t *frames; /* starting with the direct caller */
	uint32_t count;         /* 0 for the other stacks */
	uint32_t clock;         /* of the mappings when it was first seen */
	uint32_t site;          /* its first site, chained by struct site's next; or SITE_NONE */
	uint8_t wrapper;        /* enum api of the outermost wrapper; see wrappers */
	uint8_t wrappers; /* number of frames at its start that are in wrappers; valid once it has a
			     site */
	uint8_t stop;     /* enum stack_stop, or STOP_NOT_TAKEN */
	bool truncated;   /* known to be incomplete */
	bool guessed;     /* a frame pointer was used on the way */
	bool placeholder; /* the source never sent it: only the caller is known */
	bool other;       /* stands for all stacks that were too many */
};

/* An all-zero set, except max, is empty. */
struct stacks {
	uint32_t max;               /* maximum number of stacks */
	uint32_t other;             /* index + 1 of the other stacks; 0 if there are none */
	struct cow_array items;     /* of struct stack */
	struct frame_store *frames; /* of all stacks */
	struct cow_map by_id;
	struct cow_map by_content; /* by hash; of two stacks with the same hash, only the first */
	struct cow_map by_caller;  /* for calls without a stack */
	uint64_t lost;             /* number of placeholders ever made */
	uint64_t truncated;        /* number of stacks that arrived truncated; each counts once */
};

static inline const struct stack *stack_at(const struct stacks *stacks, uint32_t index)
{
	return cow_read(&stacks->items, index, sizeof(struct stack));
}

/* Like stack_at, for modification; NULL if out of memory. */
static inline struct stack *stack_change(struct stacks *stacks, uint32_t index)
{
	return cow_write(&stacks->items, index, sizeof(struct stack));
}

/* Adds a stack that the source sent. Returns 0 or -ENOMEM. */
int stacks_add(struct stacks *stacks, const struct event *event, uint32_t clock);

/*
 * Finds the stack of a call. If it has none, uses one that consists of its caller; if the stack was
 * not kept, uses the other stacks. Returns 0 or -ENOMEM.
 */
int stacks_of_call(struct stacks *stacks, const struct event_call *call, uint32_t clock,
		   uint32_t *ret_index);

/* Returns the index of the other stacks in *ret_index. Returns 0 or -ENOMEM. */
int stacks_other(struct stacks *stacks, uint32_t *ret_index);

/*
 * To save and rebuild a set: stacks_is_shared returns true if a stack can be found by its contents;
 * stacks_enter adds the next stack with a copy of its frames; stacks_enter_id adds an id of a
 * stack. The last two return 0 or -ENOMEM.
 */
bool stacks_is_shared(const struct stacks *stacks, uint32_t index);
int stacks_enter(struct stacks *stacks, struct stack stack, bool shared);
int stacks_enter_id(struct stacks *stacks, uint64_t id, uint32_t index);

/* Returns the memory use of the stacks and their frames, in bytes; of what n sets share, 1/n. */
size_t stacks_own_bytes(const struct stacks *stacks);
/* Makes *ret_copy the set of a child, with counters at 0. Returns 0 or -ENOMEM. */
int stacks_copy(struct stacks *ret_copy, const struct stacks *stacks);
/* Called when no stack will be looked up any more. */
void stacks_close(struct stacks *stacks);
void stacks_free(struct stacks *stacks);

#endif
