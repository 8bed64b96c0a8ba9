/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/stack.h"

#include <string.h>

#include "model/site.h"

static int stacks_store(struct stacks *stacks, const uint64_t *frames, uint32_t count,
			struct stack *stack)
{
	if (vec_reserve(&stacks->frames, stacks->frames.count + count))
		return -ENOMEM;
	memcpy(stacks->frames.items + stacks->frames.count, frames, count * sizeof(*frames));
	stack->first = stacks->frames.count;
	stack->count = count;
	stacks->frames.count += count;
	return 0;
}

/* A new stack under a key of one of the maps. */
static int stacks_new(struct stacks *stacks, struct map64 *map, uint64_t key,
		      const uint64_t *frames, uint32_t count, struct stack stack)
{
	stack.site = SITE_NONE;
	if (vec_reserve(&stacks->items, stacks->items.count + 1) ||
	    stacks_store(stacks, frames, count, &stack) ||
	    map64_set(map, key, (uint32_t)stacks->items.count))
		return -ENOMEM;
	stacks->items.items[stacks->items.count++] = stack;
	return 0;
}

/* What was lost comes after all: its sites get the whole stack. */
static int placeholder_fill(struct stacks *stacks, struct stack *stack, const uint64_t *frames,
			    uint32_t count, bool truncated)
{
	if (!stack->placeholder)
		return 0;
	if (stacks_store(stacks, frames, count, stack))
		return -ENOMEM;
	stack->placeholder = false;
	stack->truncated = truncated;
	stacks->truncated += truncated;
	return 0;
}

int stacks_add(struct stacks *stacks, const struct event *event, uint32_t clock)
{
	const struct event_stack *sent = &event->stack;
	bool truncated = event->flags & EVENT_FLAG_TRUNCATED;
	uint32_t count = sent->count, index;

	if (!sent->id || !count)
		return 0; /* to be found missing by the first call that names it */
	if (count > STACK_MAX_FRAMES) {
		count = STACK_MAX_FRAMES;
		truncated = true;
	}
	index = map64_get(&stacks->by_id, sent->id);
	if (index != MAP64_NONE)
		return placeholder_fill(stacks, &stacks->items.items[index], sent->frames, count,
					truncated);
	if (stacks_new(stacks, &stacks->by_id, sent->id, sent->frames, count,
		       (struct stack){.clock = clock, .truncated = truncated}))
		return -ENOMEM;
	stacks->truncated += truncated;
	return 0;
}

static int stacks_of_caller(struct stacks *stacks, uint64_t caller, uint32_t clock,
			    uint32_t *ret_index)
{
	*ret_index = map64_get(&stacks->by_caller, caller);
	if (*ret_index != MAP64_NONE)
		return 0;
	*ret_index = (uint32_t)stacks->items.count;
	return stacks_new(stacks, &stacks->by_caller, caller, &caller, 1,
			  (struct stack){.clock = clock});
}

int stacks_of_call(struct stacks *stacks, const struct event_call *call, uint32_t clock,
		   uint32_t *ret_index)
{
	if (!call->stack)
		return stacks_of_caller(stacks, call->caller, clock, ret_index);
	*ret_index = map64_get(&stacks->by_id, call->stack);
	if (*ret_index != MAP64_NONE)
		return 0;
	*ret_index = (uint32_t)stacks->items.count;
	if (stacks_new(stacks, &stacks->by_id, call->stack, &call->caller, 1,
		       (struct stack){.clock = clock, .truncated = true, .placeholder = true}))
		return -ENOMEM;
	stacks->lost++;
	return 0;
}

void stacks_free(struct stacks *stacks)
{
	vec_free(&stacks->items);
	vec_free(&stacks->frames);
	map64_free(&stacks->by_id);
	map64_free(&stacks->by_caller);
}
