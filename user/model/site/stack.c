/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/site/stack.h"

#include <string.h>

#include "base/hash.h"
#include "model/site/site.h"
#include "model/site/stop.h"

/* A source that numbers samples has many ids per stack; excess ids are not kept. */
#define IDS_PER_STACK 16

/* Converts a stack from the source. The frames still belong to the event. */
static struct stack stack_sent(const struct event *event, uint32_t clock)
{
	const struct event_stack *sent = &event->stack;
	bool too_long = sent->count > STACK_MAX_FRAMES;
	uint32_t stop = sent->stop < STOP_COUNT ? sent->stop : STOP_UNKNOWN;

	return (struct stack){
		.count = too_long ? STACK_MAX_FRAMES : sent->count,
		.clock = clock,
		.stop = (uint8_t)(too_long ? STOP_DEPTH : stop),
		.truncated = too_long || event->flags & EVENT_FLAG_TRUNCATED,
		.guessed = event->flags & EVENT_FLAG_GUESSED,
	};
}

/* Creates a stack that consists only of a known caller. */
static struct stack stack_of_caller(uint32_t clock)
{
	return (struct stack){.count = 1, .clock = clock, .stop = STOP_NOT_TAKEN};
}

static uint64_t stack_hash(const struct stack *stack, const uint64_t *frames)
{
	return hash_bytes_seeded(frames, stack->count * sizeof(*frames),
				 (uint64_t)stack->clock << 8 | stack->stop);
}

static bool stack_equals(const struct stack *stack, const struct stack *sent,
			 const uint64_t *frames)
{
	return stack->count == sent->count && stack->clock == sent->clock &&
	       stack->stop == sent->stop && stack->truncated == sent->truncated &&
	       stack->guessed == sent->guessed &&
	       !memcmp(stack->frames, frames, sent->count * sizeof(*frames));
}

/* Returns the index of a stack with the same contents, or MAP64_NONE. */
static uint32_t stacks_find(const struct stacks *stacks, const struct stack *sent,
			    const uint64_t *frames)
{
	uint32_t index = cow_map_get(&stacks->by_content, stack_hash(sent, frames));

	if (index == MAP64_NONE || !stack_equals(stack_at(stacks, index), sent, frames))
		return MAP64_NONE;
	return index;
}

static int stacks_push(struct stacks *stacks, struct stack stack)
{
	uint32_t index = (uint32_t)stacks->items.count;

	if (cow_grow(&stacks->items, 1, sizeof(stack)))
		return -ENOMEM;
	stack.site = SITE_NONE;
	*stack_change(stacks, index) = stack;
	return 0;
}

/* Adds a stack under a key of one of the maps. */
static int stacks_new(struct stacks *stacks, struct cow_map *map, uint64_t key,
		      const uint64_t *frames, struct stack stack)
{
	uint32_t index = (uint32_t)stacks->items.count;

	stack.frames = frame_store_keep(&stacks->frames, frames, stack.count);
	if (!stack.frames || stacks_push(stacks, stack))
		return -ENOMEM;
	return cow_map_set(map, key, index);
}

static bool stacks_full(const struct stacks *stacks)
{
	return stacks->items.count >= stacks->max ||
	       stacks->by_id.count >= (uint64_t)stacks->max * IDS_PER_STACK;
}

/* Makes a stack findable by its contents. If out of memory, it is just not shared. */
static void stacks_share(struct stacks *stacks, uint32_t index, const uint64_t *frames)
{
	const struct stack *stack = stack_at(stacks, index);
	uint64_t hash = stack_hash(stack, frames);

	stacks->truncated += stack->truncated;
	if (cow_map_get(&stacks->by_content, hash) == MAP64_NONE)
		(void)cow_map_set(&stacks->by_content, hash, index);
}

/*
 * Handles a known id. If the stack was missing so far, its sites get the whole stack, which remains
 * separate even if an equal one exists.
 */
static int stacks_send_again(struct stacks *stacks, uint32_t index, struct stack sent,
			     const uint64_t *frames)
{
	struct stack *stack;

	if (!stack_at(stacks, index)->placeholder)
		return 0;
	sent.frames = frame_store_keep(&stacks->frames, frames, sent.count);
	stack = sent.frames ? stack_change(stacks, index) : NULL;
	if (!stack)
		return -ENOMEM;
	sent.clock = stack->clock;
	sent.site = stack->site;
	sent.wrapper = stack->wrapper;
	sent.wrappers = stack->wrappers;
	*stack = sent;
	stacks_share(stacks, index, frames);
	return 0;
}

int stacks_add(struct stacks *stacks, const struct event *event, uint32_t clock)
{
	const uint64_t *frames = event->stack.frames;
	struct stack sent = stack_sent(event, clock);
	uint64_t id = event->stack.id;
	uint32_t index;

	if (!id || !sent.count)
		return 0; /* the first call that refers to it will find it missing */
	index = cow_map_get(&stacks->by_id, id);
	if (index != MAP64_NONE)
		return stacks_send_again(stacks, index, sent, frames);
	index = stacks_find(stacks, &sent, frames);
	if (stacks_full(stacks))
		return 0;
	if (index != MAP64_NONE)
		return cow_map_set(&stacks->by_id, id, index);
	if (stacks_new(stacks, &stacks->by_id, id, frames, sent))
		return -ENOMEM;
	stacks_share(stacks, (uint32_t)stacks->items.count - 1, frames);
	return 0;
}

int stacks_other(struct stacks *stacks, uint32_t *ret_index)
{
	if (!stacks->other) {
		if (stacks_push(stacks, (struct stack){.stop = STOP_NOT_TAKEN, .other = true}))
			return -ENOMEM;
		stacks->other = (uint32_t)stacks->items.count;
	}
	*ret_index = stacks->other - 1;
	return 0;
}

static int stacks_of_caller(struct stacks *stacks, uint64_t caller, uint32_t clock,
			    uint32_t *ret_index)
{
	*ret_index = cow_map_get(&stacks->by_caller, caller);
	if (*ret_index != MAP64_NONE)
		return 0;
	if (stacks_full(stacks))
		return stacks_other(stacks, ret_index);
	*ret_index = (uint32_t)stacks->items.count;
	return stacks_new(stacks, &stacks->by_caller, caller, &caller, stack_of_caller(clock));
}

int stacks_of_call(struct stacks *stacks, const struct event_call *call, uint32_t clock,
		   uint32_t *ret_index)
{
	struct stack placeholder = stack_of_caller(clock);

	if (!call->stack)
		return stacks_of_caller(stacks, call->caller, clock, ret_index);
	*ret_index = cow_map_get(&stacks->by_id, call->stack);
	if (*ret_index != MAP64_NONE)
		return 0;
	if (stacks_full(stacks)) /* so it may have arrived, but was not kept */
		return stacks_other(stacks, ret_index);
	*ret_index = (uint32_t)stacks->items.count;
	placeholder.truncated = placeholder.placeholder = true;
	if (stacks_new(stacks, &stacks->by_id, call->stack, &call->caller, placeholder))
		return -ENOMEM;
	stacks->lost++;
	return 0;
}

bool stacks_is_shared(const struct stacks *stacks, uint32_t index)
{
	const struct stack *stack = stack_at(stacks, index);

	return stack->frames &&
	       cow_map_get(&stacks->by_content, stack_hash(stack, stack->frames)) == index;
}

/* Returns true if only the caller of the stack is known; such a stack is found by that. */
static bool is_of_caller(const struct stack *stack)
{
	return stack->stop == STOP_NOT_TAKEN && !stack->placeholder && !stack->other &&
	       stack->count == 1;
}

int stacks_enter(struct stacks *stacks, struct stack stack, bool shared)
{
	uint32_t index = (uint32_t)stacks->items.count;
	int err = 0;

	if (stack.count) {
		stack.frames = frame_store_keep(&stacks->frames, stack.frames, stack.count);
		if (!stack.frames)
			return -ENOMEM;
	}
	if (stacks_push(stacks, stack))
		return -ENOMEM;
	if (stack.other)
		stacks->other = index + 1;
	if (is_of_caller(&stack))
		err = cow_map_set(&stacks->by_caller, stack.frames[0], index);
	if (!err && shared)
		err = cow_map_set(&stacks->by_content, stack_hash(&stack, stack.frames), index);
	return err;
}

int stacks_enter_id(struct stacks *stacks, uint64_t id, uint32_t index)
{
	return cow_map_set(&stacks->by_id, id, index);
}

int stacks_copy(struct stacks *ret_copy, const struct stacks *stacks)
{
	struct stacks copy = {.max = stacks->max, .other = stacks->other};

	if (cow_copy(&copy.items, &stacks->items) ||
	    frame_store_branch(&copy.frames, stacks->frames) ||
	    cow_map_copy(&copy.by_id, &stacks->by_id) ||
	    cow_map_copy(&copy.by_content, &stacks->by_content) ||
	    cow_map_copy(&copy.by_caller, &stacks->by_caller)) {
		stacks_free(&copy);
		return -ENOMEM;
	}
	*ret_copy = copy;
	return 0;
}

size_t stacks_own_bytes(const struct stacks *stacks)
{
	return cow_own_bytes(&stacks->items, sizeof(struct stack)) +
	       frame_store_bytes(stacks->frames);
}

void stacks_close(struct stacks *stacks)
{
	cow_map_free(&stacks->by_id);
	cow_map_free(&stacks->by_content);
	cow_map_free(&stacks->by_caller);
}

void stacks_free(struct stacks *stacks)
{
	stacks_close(stacks);
	cow_free(&stacks->items);
	frame_store_free(stacks->frames);
	stacks->frames = NULL;
}
