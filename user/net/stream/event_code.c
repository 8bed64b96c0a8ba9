// SPDX-License-Identifier: GPL-2.0-or-later
/* docs/STREAM.md describes this format. Any change needs a new version there. */
#include "net/stream/event_code.h"

#include <errno.h>
#include <string.h>

/* The first byte of an event: its kind, and what need not be repeated. */
#define TAG_KIND        0x1f
#define TAG_SAME_THREAD 0x20 /* same pid and tid as in the previous event */
#define TAG_SAME_TIME   0x40
/* For calls: has the usual fields of its kind; for others: has no flags. */
#define TAG_PLAIN 0x80

/* The fields that a call has. All others are 0, except the size of a free. */
#define FIELD_FLAGS   0x01
#define FIELD_ADDRESS 0x02
#define FIELD_SIZE    0x04
#define FIELD_SLACK   0x08
#define FIELD_PLACE   0x10 /* caller and stack */
#define FIELD_ARGS    0x20
#define FIELD_ALL     0x3f

#define PLACE_NEW EVENT_PLACES /* written in full */

static uint64_t size_of_none(enum event_kind kind)
{
	return kind == EVENT_FREE ? SIZE_UNKNOWN : 0;
}

/* The index at which a place is remembered. Both sides compute it the same way. */
static uint32_t place_slot(uint64_t stack, uint64_t caller)
{
	return (uint32_t)(((stack ^ caller) * 0x9e3779b97f4a7c15ULL >> 32) % EVENT_PLACES);
}

/* Calls. */

static unsigned int fields_of(const struct event *event)
{
	const struct event_call *call = &event->call;
	unsigned int fields = 0;

	if (event->flags)
		fields |= FIELD_FLAGS;
	if (call->address)
		fields |= FIELD_ADDRESS;
	if (call->size != size_of_none(event->kind))
		fields |= FIELD_SIZE;
	if (call->slack)
		fields |= FIELD_SLACK;
	if (call->caller || call->stack)
		fields |= FIELD_PLACE;
	for (size_t i = 0; i < RECORD_BEGIN_ARGS; i++)
		if (call->args[i])
			fields |= FIELD_ARGS;
	return fields;
}

static void pack_place(struct pack *out, struct event_context *context,
		       const struct event_call *call)
{
	uint32_t slot = place_slot(call->stack, call->caller);

	if (context->places[slot].stack == call->stack &&
	    context->places[slot].caller == call->caller) {
		pack_byte(out, slot);
		return;
	}
	pack_byte(out, PLACE_NEW);
	pack_fixed(out, call->stack, 8);
	pack_difference(out, call->caller, &context->caller);
	context->places[slot].stack = call->stack;
	context->places[slot].caller = call->caller;
}

static int unpack_place(struct unpack *view, struct event_context *context, struct event_call *call)
{
	uint32_t slot = unpack_byte(view);

	if (slot == PLACE_NEW) {
		call->stack = unpack_fixed(view, 8);
		call->caller = unpack_difference(view, &context->caller);
		slot = place_slot(call->stack, call->caller);
		context->places[slot].stack = call->stack;
		context->places[slot].caller = call->caller;
	}
	call->stack = context->places[slot].stack;
	call->caller = context->places[slot].caller;
	return 0;
}

static void pack_args(struct pack *out, struct event_context *context, const uint64_t *args)
{
	unsigned int count = RECORD_BEGIN_ARGS;

	while (count && !args[count - 1])
		count--;
	pack_byte(out, count);
	for (unsigned int i = 0; i < count; i++)
		if (i)
			pack_number(out, args[i]);
		else
			pack_difference(out, args[i], &context->address);
}

static void unpack_args(struct unpack *view, struct event_context *context, uint64_t *args)
{
	unsigned int count = unpack_byte(view);

	if (count > RECORD_BEGIN_ARGS)
		view->bad = true;
	for (unsigned int i = 0; i < count && !view->bad; i++)
		args[i] = i ? unpack_number(view) : unpack_difference(view, &context->address);
}

static int pack_call(struct pack *out, struct event_context *context, const struct event *event,
		     unsigned int fields)
{
	const struct event_call *call = &event->call;

	pack_byte(out, event->api);
	if (fields & ~FIELD_ALL) /* not plain */
		pack_byte(out, fields & FIELD_ALL);
	if (fields & FIELD_FLAGS)
		pack_number(out, event->flags);
	if (fields & FIELD_ADDRESS)
		pack_difference(out, call->address, &context->address);
	if (fields & FIELD_SIZE)
		pack_number(out, call->size);
	if (fields & FIELD_SLACK)
		pack_number(out, call->slack);
	if (fields & FIELD_PLACE)
		pack_place(out, context, call);
	if (fields & FIELD_ARGS)
		pack_args(out, context, call->args);
	return 0;
}

static void unpack_call(struct unpack *view, struct event_context *context, struct event *event,
			unsigned int fields)
{
	struct event_call *call = &event->call;

	event->api = (enum api)unpack_byte(view);
	if (fields & ~FIELD_ALL)
		fields = unpack_byte(view);
	if (fields & ~FIELD_ALL)
		view->bad = true;
	call->size = size_of_none(event->kind);
	if (fields & FIELD_FLAGS)
		event->flags = (uint16_t)unpack_bounded(view, UINT16_MAX);
	if (fields & FIELD_ADDRESS)
		call->address = unpack_difference(view, &context->address);
	if (fields & FIELD_SIZE)
		call->size = unpack_number(view);
	if (fields & FIELD_SLACK)
		call->slack = unpack_number(view);
	if (fields & FIELD_PLACE)
		unpack_place(view, context, call);
	if (fields & FIELD_ARGS)
		unpack_args(view, context, call->args);
}

/* Events other than calls. */

static int pack_process(struct pack *out, const struct event *event)
{
	const struct event_process *process = &event->process;
	const char *const *word = process->command;
	size_t count = 0;

	pack_number(out, process->start_time_ns);
	pack_number(out, process->ppid);
	pack_number(out, process->inner_pid);
	pack_byte(out, process->origin);
	pack_byte(out, process->from_start);
	pack_text(out, process->comm);
	pack_text(out, process->exe);
	pack_text(out, process->arch);
	pack_text(out, process->cgroup);
	pack_text(out, process->container);
	while (word && word[count])
		count++;
	pack_number(out, count);
	for (size_t i = 0; i < count; i++)
		pack_text(out, word[i]);
	return 0;
}

static int unpack_command(struct unpack *view, struct event_room *room,
			  struct event_process *process)
{
	uint64_t count = unpack_bounded(view, unpack_left(view));

	room->words.count = 0;
	for (uint64_t i = 0; i < count && !view->bad; i++) {
		const char *word = unpack_text(view);

		if (vec_push(&room->words, word ? word : ""))
			return -ENOMEM;
	}
	if (vec_push(&room->words, NULL))
		return -ENOMEM;
	process->command = room->words.items;
	return 0;
}

static int unpack_process(struct unpack *view, struct event_room *room, struct event *event)
{
	struct event_process *process = &event->process;

	process->start_time_ns = unpack_number(view);
	process->ppid = (uint32_t)unpack_bounded(view, UINT32_MAX);
	process->inner_pid = (uint32_t)unpack_bounded(view, UINT32_MAX);
	process->origin = (enum origin)unpack_byte(view);
	process->from_start = unpack_byte(view) & 1;
	process->comm = unpack_text(view);
	process->exe = unpack_text(view);
	process->arch = unpack_text(view);
	process->cgroup = unpack_text(view);
	process->container = unpack_text(view);
	if ((unsigned int)process->origin >= ORIGIN_COUNT)
		view->bad = true;
	return unpack_command(view, room, process);
}

static int pack_fork(struct pack *out, const struct event *event)
{
	pack_number(out, event->fork.parent);
	pack_number(out, event->fork.start_time_ns);
	pack_byte(out, event->fork.shares_memory);
	pack_text(out, event->fork.comm);
	return 0;
}

static int unpack_fork(struct unpack *view, struct event_room *room, struct event *event)
{
	(void)room;
	event->fork.parent = (uint32_t)unpack_bounded(view, UINT32_MAX);
	event->fork.start_time_ns = unpack_number(view);
	event->fork.shares_memory = unpack_byte(view) & 1;
	event->fork.comm = unpack_text(view);
	return 0;
}

static int pack_exit(struct pack *out, const struct event *event)
{
	pack_number(out, event->exit.code);
	return 0;
}

static int unpack_exit(struct unpack *view, struct event_room *room, struct event *event)
{
	(void)room;
	event->exit.code = (uint32_t)unpack_bounded(view, UINT32_MAX);
	return 0;
}

static int pack_nothing(struct pack *out, const struct event *event)
{
	(void)out;
	(void)event;
	return 0;
}

static int unpack_nothing(struct unpack *view, struct event_room *room, struct event *event)
{
	(void)view;
	(void)room;
	(void)event;
	return 0;
}

/* The order never changes; new ones are appended. */
static const size_t losses[] = {
	offsetof(struct snapshot_losses, events),
	offsetof(struct snapshot_losses, stacks),
	offsetof(struct snapshot_losses, truncated_stacks),
	offsetof(struct snapshot_losses, unmatched_frees),
	offsetof(struct snapshot_losses, missed_returns),
	offsetof(struct snapshot_losses, unprobed_sites),
	offsetof(struct snapshot_losses, gap_ns),
	offsetof(struct snapshot_losses, no_allocator),
	offsetof(struct snapshot_losses, children),
	offsetof(struct snapshot_losses, collisions),
	offsetof(struct snapshot_losses, filtered),
};
#define LOSSES (sizeof(losses) / sizeof(losses[0]))
_Static_assert(LOSSES * sizeof(uint64_t) == sizeof(struct snapshot_losses), "no loss is left out");

static int pack_losses(struct pack *out, const struct event *event)
{
	const char *base = (const char *)event->losses;

	pack_number(out, LOSSES);
	for (size_t i = 0; i < LOSSES; i++)
		pack_number(out, *(const uint64_t *)(base + losses[i]));
	return 0;
}

static int unpack_losses(struct unpack *view, struct event_room *room, struct event *event)
{
	uint64_t count = unpack_bounded(view, unpack_left(view));

	room->losses = (struct snapshot_losses){0};
	for (uint64_t i = 0; i < count && !view->bad; i++) {
		uint64_t value = unpack_number(view);

		if (i < LOSSES)
			*(uint64_t *)((char *)&room->losses + losses[i]) = value;
	}
	event->losses = &room->losses;
	return 0;
}

static int pack_mapping(struct pack *out, const struct event *event)
{
	const struct event_mapping *mapping = &event->mapping;

	pack_number(out, mapping->start);
	pack_number(out, mapping->end - mapping->start);
	pack_number(out, mapping->offset);
	pack_number(out, mapping->module == MODULE_NONE ? 0 : (uint64_t)mapping->module + 1);
	pack_number(out, mapping->flags);
	return 0;
}

/* Rejects a range that would wrap around. */
static uint64_t unpack_end(struct unpack *view, uint64_t start)
{
	return start + unpack_bounded(view, UINT64_MAX - start);
}

static int unpack_mapping(struct unpack *view, struct event_room *room, struct event *event)
{
	struct event_mapping *mapping = &event->mapping;
	uint64_t module;

	(void)room;
	mapping->start = unpack_number(view);
	mapping->end = unpack_end(view, mapping->start);
	mapping->offset = unpack_number(view);
	module = unpack_bounded(view, UINT32_MAX);
	mapping->module = module ? (uint32_t)(module - 1) : MODULE_NONE;
	mapping->flags = (uint32_t)unpack_bounded(view, UINT32_MAX);
	if (mapping->end == mapping->start)
		view->bad = true;
	return 0;
}

static int pack_wrapper(struct pack *out, const struct event *event)
{
	pack_number(out, event->wrapper.start);
	pack_number(out, event->wrapper.end - event->wrapper.start);
	pack_byte(out, event->wrapper.api);
	return 0;
}

static int unpack_wrapper(struct unpack *view, struct event_room *room, struct event *event)
{
	(void)room;
	event->wrapper.start = unpack_number(view);
	event->wrapper.end = unpack_end(view, event->wrapper.start);
	event->wrapper.api = (enum api)unpack_byte(view);
	return 0;
}

static int pack_stack(struct pack *out, const struct event *event)
{
	const struct event_stack *stack = &event->stack;
	uint64_t last = 0;

	if (stack->count > EVENT_FRAMES_MAX)
		return -EMSGSIZE;
	pack_fixed(out, stack->id, 8);
	pack_byte(out, stack->stop);
	pack_number(out, stack->count);
	for (uint32_t i = 0; i < stack->count; i++)
		pack_difference(out, stack->frames[i], &last);
	return 0;
}

static int unpack_stack(struct unpack *view, struct event_room *room, struct event *event)
{
	struct event_stack *stack = &event->stack;
	uint64_t last = 0;

	stack->id = unpack_fixed(view, 8);
	stack->stop = unpack_byte(view);
	stack->count = (uint32_t)unpack_bounded(view, EVENT_FRAMES_MAX);
	for (uint32_t i = 0; i < stack->count; i++)
		room->frames[i] = unpack_difference(view, &last);
	stack->frames = room->frames;
	if (stack->stop >= STOP_COUNT) /* a reason from a later version */
		stack->stop = STOP_UNKNOWN;
	return 0;
}

/* The numbers of kinds in a stream never change. */
struct code {
	uint8_t number;
	uint8_t plain; /* for calls: the usual fields, FIELD_… */
	int (*pack)(struct pack *out, const struct event *event); /* NULL for a call */
	int (*unpack)(struct unpack *view, struct event_room *room, struct event *event);
};

static const struct code codes[EVENT_KIND_COUNT] = {
	[EVENT_PROCESS] = {1, 0, pack_process, unpack_process},
	[EVENT_FORK] = {2, 0, pack_fork, unpack_fork},
	[EVENT_EXEC] = {3, 0, pack_process, unpack_process},
	[EVENT_EXIT] = {4, 0, pack_exit, unpack_exit},
	[EVENT_LEAVE] = {5, 0, pack_nothing, unpack_nothing},
	[EVENT_LOSSES] = {6, 0, pack_losses, unpack_losses},
	[EVENT_THREAD_EXITS] = {7, 0, pack_nothing, unpack_nothing},
	[EVENT_THREAD_GONE] = {8, 0, pack_nothing, unpack_nothing},
	[EVENT_MAPPING] = {9, 0, pack_mapping, unpack_mapping},
	[EVENT_WRAPPER] = {10, 0, pack_wrapper, unpack_wrapper},
	[EVENT_STACK] = {11, 0, pack_stack, unpack_stack},
	[EVENT_ALLOC] = {12, FIELD_ADDRESS | FIELD_SIZE | FIELD_PLACE, NULL, NULL},
	[EVENT_FREE] = {13, FIELD_ADDRESS, NULL, NULL},
	[EVENT_BEGIN] = {14, FIELD_PLACE | FIELD_ARGS, NULL, NULL},
	[EVENT_END] = {15, FIELD_ADDRESS | FIELD_SIZE | FIELD_PLACE, NULL, NULL},
};

static const struct code *code_of_number(uint8_t number, enum event_kind *ret_kind)
{
	for (size_t i = 0; i < EVENT_KIND_COUNT; i++) {
		if (codes[i].number != number)
			continue;
		*ret_kind = (enum event_kind)i;
		return &codes[i];
	}
	return NULL;
}

static void pack_head(struct pack *out, struct event_context *context, const struct event *event,
		      unsigned int tag)
{
	bool same_thread = event->pid == context->pid && event->tid == context->tid;
	uint64_t tid = event->pid;

	tag |= same_thread ? TAG_SAME_THREAD : 0;
	tag |= event->time_ns == context->time_ns ? TAG_SAME_TIME : 0;
	pack_byte(out, tag);
	if (!same_thread) {
		pack_number(out, event->pid);
		pack_difference(out, event->tid, &tid);
		context->pid = event->pid;
		context->tid = event->tid;
	}
	if (event->time_ns != context->time_ns)
		pack_difference(out, event->time_ns, &context->time_ns);
}

int event_pack(struct pack *out, struct event_context *context, const struct event *event)
{
	const struct code *code = &codes[event->kind];
	unsigned int fields;

	if (code->pack) {
		pack_head(out, context, event, code->number | (event->flags ? 0 : TAG_PLAIN));
		if (event->flags)
			pack_number(out, event->flags);
		return code->pack(out, event);
	}
	fields = fields_of(event);
	if (fields == code->plain) {
		pack_head(out, context, event, code->number | TAG_PLAIN);
		return pack_call(out, context, event, fields);
	}
	pack_head(out, context, event, code->number);
	return pack_call(out, context, event, fields | ~FIELD_ALL);
}

static void unpack_head(struct unpack *view, struct event_context *context, struct event *event,
			unsigned int tag)
{
	uint64_t tid;

	if (!(tag & TAG_SAME_THREAD)) {
		context->pid = (uint32_t)unpack_bounded(view, UINT32_MAX);
		tid = context->pid;
		context->tid = (uint32_t)unpack_difference(view, &tid);
	}
	if (!(tag & TAG_SAME_TIME))
		unpack_difference(view, &context->time_ns);
	event->pid = context->pid;
	event->tid = context->tid;
	event->time_ns = context->time_ns;
}

int event_unpack(struct unpack *view, struct event_context *context, struct event_room *room,
		 struct event *ret_event)
{
	unsigned int tag = unpack_byte(view);
	struct event event = {0};
	const struct code *code = code_of_number(tag & TAG_KIND, &event.kind);
	int err = 0;

	if (!code)
		return -EBADMSG;
	unpack_head(view, context, &event, tag);
	if (!code->pack) {
		unpack_call(view, context, &event,
			    tag & TAG_PLAIN ? code->plain : ~(unsigned int)FIELD_ALL);
	} else {
		if (!(tag & TAG_PLAIN))
			event.flags = (uint16_t)unpack_bounded(view, UINT16_MAX);
		err = code->unpack(view, room, &event);
	}
	if (err || view->bad)
		return err ? err : -EBADMSG;
	*ret_event = event;
	return 0;
}
