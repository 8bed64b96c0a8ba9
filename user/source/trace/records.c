/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts records of any backend to events. */
#include "source/trace/records.h"

#include <string.h>

#include "base/log.h"
#include "source/trace/backend.h"
#include "source/trace/leader.h"
#include "source/trace/losses.h"
#include "source/trace/mappings.h"
#include "source/trace/process.h"
#include "source/trace/translated.h"
#include "source/trace/translator.h"
#include "source/unwind/stack_dump.h"
#include "source/unwind/stack_check.h"

static int decode_call(struct trace_source *trace, const struct record_head *head,
		       struct event *event)
{
	static const enum event_kind kinds[] = {
		[RECORD_ALLOC] = EVENT_ALLOC,
		[RECORD_END] = EVENT_END,
	};
	const struct record_call *call = (const void *)head;

	event->kind = kinds[head->kind];
	event->call = (struct event_call){
		.address = call->address,
		.size = call->size,
		.caller = call->caller,
		.stack = stack_dump_finished_id(&trace->stack_dumps, call->stack),
	};
	return trace->config.deliver(trace->config.ctx, event);
}

/* `object` is the process's allocator that frees. */
static int deliver_free(struct trace_source *trace, const struct record_head *head,
			struct event *event, uint8_t object)
{
	struct traced_process *process = processes_find(trace, (pid_t)head->pid);

	if (traced_process_is_nested_free(process, head->tid, event->call.address, object))
		event->flags |= EVENT_FLAG_NESTED;
	return trace->config.deliver(trace->config.ctx, event);
}

static int decode_free(struct trace_source *trace, const struct record_head *head,
		       struct event *event)
{
	const struct record_free *record = (const void *)head;

	event->kind = EVENT_FREE;
	event->flags = 0;
	event->call = (struct event_call){
		.address = record->address, .caller = record->caller, .size = SIZE_UNKNOWN};
	return deliver_free(trace, head, event, (uint8_t)(head->flags >> RECORD_OBJECT_SHIFT));
}

static int decode_release(struct trace_source *trace, const struct record_head *head,
			  struct event *event)
{
	const struct record_release *record = (const void *)head;

	event->kind = EVENT_FREE;
	event->call = (struct event_call){
		.address = record->address,
		.size = record->size,
		.slack = record->slack,
		.caller = record->caller,
		.stack = stack_dump_finished_id(&trace->stack_dumps, record->stack),
	};
	return deliver_free(trace, head, event, (uint8_t)record->object);
}

static int decode_begin(struct trace_source *trace, const struct record_head *head,
			struct event *event)
{
	const struct record_begin *begin = (const void *)head;

	event->kind = EVENT_BEGIN;
	event->call = (struct event_call){.caller = begin->caller};
	memcpy(event->call.args, begin->args, sizeof(begin->args));
	return trace->config.deliver(trace->config.ctx, event);
}

/* Truncates a stack that is implausible from some frame on. The outermost frame need not have been
 * called: a coroutine may start there. */
static struct event_stack checked_stack(const struct trace_source *trace, uint32_t pid,
					struct event_stack stack)
{
	struct traced_process *process = processes_find(trace, (pid_t)pid);
	uint32_t right;

	if (!process || !process->tables || !stack.count)
		return stack;
	right = stack_check(process, stack.frames, stack.count);
	if (right == stack.count || (right == stack.count - 1 && stack.stop == STOP_END))
		return stack;
	stack.count = right;
	stack.stop = STOP_NO_CODE;
	return stack;
}

static int deliver_stack(struct trace_source *trace, struct event *event, struct event_stack stack)
{
	event->kind = EVENT_STACK;
	event->stack = checked_stack(trace, event->pid, stack);
	if (event->stack.stop != STOP_END && event->stack.stop != STOP_UNKNOWN)
		event->flags |= EVENT_FLAG_TRUNCATED;
	return trace->config.deliver(trace->config.ctx, event);
}

static int decode_stack(struct trace_source *trace, const struct record_head *head,
			struct event *event)
{
	const struct record_stack *stack = (const void *)head;

	if (stack->count > (head->length - sizeof(*stack)) / sizeof(uint64_t))
		return 0;
	return deliver_stack(trace, event,
			     (struct event_stack){
				     .id = stack->id,
				     .frames = (const uint64_t *)(stack + 1),
				     .count = stack->count,
				     .stop = stack->stop,
			     });
}

static int decode_stack_dump(struct trace_source *trace, const struct record_head *head,
			     struct event *event)
{
	const struct record_stack_dump *dump = (const void *)head;
	struct finished_stack stack;

	if (stack_dump_finish(processes_find(trace, (pid_t)head->pid), dump, trace->config.depth,
			      mappings_read_with_gap, &stack))
		return 0;
	stack_dump_remember(&trace->stack_dumps, dump->id, stack.id);
	return deliver_stack(trace, event,
			     (struct event_stack){
				     .id = stack.id,
				     .frames = stack.frames,
				     .count = stack.count,
				     .stop = stack.stop,
			     });
}

static int decode_mapping(struct trace_source *trace, const struct record_head *head,
			  struct event *event)
{
	(void)event;
	return traced_process_mapping(processes_find(trace, (pid_t)head->pid), (const void *)head);
}

/* A new child. If its parent is unknown (it was forked while we attached), it is attached like any
 * other process. */
static int decode_fork(struct trace_source *trace, const struct record_head *head,
		       struct event *event)
{
	const struct record_fork *fork = (const void *)head;
	const struct traced_process *parent = processes_find(trace, (pid_t)fork->parent);
	struct traced_process *former = processes_find(trace, (pid_t)head->pid), *process;
	struct error err;
	int code;

	(void)event;
	if (parent && parent->awaits_exec)
		return 0;
	if (former)
		processes_remove(trace, former);
	code = processes_new(trace, (pid_t)head->pid, &process);
	if (code)
		return code;
	if (parent)
		return traced_process_fork(process, parent, fork);
	code = traced_process_attach(process, &err);
	return code == -ENOMEM ? code : 0;
}

/* Reports what was filtered in the old image. */
static int deliver_filtered(struct trace_source *trace, struct traced_process *process,
			    const struct record_exec *exec)
{
	uint64_t losses[LOSS_COUNT] = {0};

	if (process->awaits_exec || !exec->filtered)
		return 0;
	if (trace->losses)
		trace->losses(trace, process->pid, losses);
	losses[LOSS_FILTERED] = exec->filtered;
	return processes_deliver_losses(process, losses);
}

static int decode_exec(struct trace_source *trace, const struct record_head *head,
		       struct event *event)
{
	struct traced_process *process = processes_find(trace, (pid_t)head->pid);
	const struct record_exec *exec = (const void *)head;
	int err = 0;

	(void)event;
	if (!process) {
		err = processes_new(trace, (pid_t)head->pid, &process);
		if (err)
			return err;
		process->awaits_exec = true;
	}
	err = deliver_filtered(trace, process, exec);
	if (!err && translator_is_path(exec->path))
		err = translated_leave(trace, process, head->time_ns, false);
	return err ? err : traced_process_exec(process, exec);
}

static int decode_end(struct trace_source *trace, const struct record_head *head,
		      struct event *event)
{
	struct traced_process *process = processes_find(trace, (pid_t)head->pid);
	const struct record_exit *end = (const void *)head;
	int err = processes_deliver_losses(process, end->losses);

	event->kind = head->kind == RECORD_EXIT ? EVENT_EXIT : EVENT_LEAVE;
	event->exit.code = end->code;
	processes_remove(trace, process);
	return err ? err : trace->config.deliver(trace->config.ctx, event);
}

static int decode_thread(struct trace_source *trace, const struct record_head *head,
			 struct event *event)
{
	event->kind = head->kind == RECORD_THREAD_EXITS ? EVENT_THREAD_EXITS : EVENT_THREAD_GONE;
	return trace->config.deliver(trace->config.ctx, event);
}

static int decode_leader(struct trace_source *trace, const struct record_head *head,
			 struct event *event)
{
	(void)event;
	return leader_lost(processes_find(trace, (pid_t)head->pid), &trace->shared);
}

static int decode_held(struct trace_source *trace, const struct record_head *head,
		       struct event *event)
{
	(void)event;
	return trace->held ? trace->held(trace, head) : 0;
}

struct decoder {
	size_t size; /* minimum size */
	int (*decode)(struct trace_source *trace, const struct record_head *head,
		      struct event *event);
};

static const struct decoder decoders[] = {
	[RECORD_ALLOC] = {sizeof(struct record_call), decode_call},
	[RECORD_FREE] = {sizeof(struct record_free), decode_free},
	[RECORD_BEGIN] = {sizeof(struct record_begin), decode_begin},
	[RECORD_END] = {sizeof(struct record_call), decode_call},
	[RECORD_STACK] = {sizeof(struct record_stack), decode_stack},
	[RECORD_MAPPING] = {sizeof(struct record_mapping), decode_mapping},
	[RECORD_EXEC] = {sizeof(struct record_exec), decode_exec},
	[RECORD_EXIT] = {sizeof(struct record_exit), decode_end},
	[RECORD_THREAD_EXITS] = {sizeof(struct record_head), decode_thread},
	[RECORD_THREAD_GONE] = {sizeof(struct record_head), decode_thread},
	[RECORD_STACK_DUMP] = {sizeof(struct record_stack_dump), decode_stack_dump},
	[RECORD_FORK] = {sizeof(struct record_fork), decode_fork},
	[RECORD_LEAVE] = {sizeof(struct record_exit), decode_end},
	[RECORD_LEADER_GONE] = {sizeof(struct record_head), decode_leader},
	[RECORD_RELEASE] = {sizeof(struct record_release), decode_release},
	[RECORD_HELD] = {sizeof(struct record_head), decode_held},
	[RECORD_AT_END] = {sizeof(struct record_head), decode_held},
};

/* Records of the ptrace tracer itself. */
static bool is_of_tracer(const struct record_head *head)
{
	return head->kind == RECORD_HELD || head->kind == RECORD_AT_END;
}

static bool is_of_program(const struct trace_source *trace, const struct record_head *head)
{
	const struct traced_process *process = processes_find(trace, (pid_t)head->pid);

	if (is_of_tracer(head))
		return true;
	if (!process)
		return head->kind == RECORD_FORK ||
		       (head->kind == RECORD_EXEC && head->flags & RECORD_FLAG_NEWBORN);
	return !process->awaits_exec || head->kind == RECORD_EXEC;
}

/* Time stamps come from a coarse clock (bpf/clock.bpf.h); the order is that of the ring buffer. */
static uint64_t level_time(struct trace_source *trace, uint64_t time_ns)
{
	if (time_ns > trace->newest_ns)
		trace->newest_ns = time_ns;
	return trace->newest_ns;
}

static int deliver_exec(struct trace_source *trace, struct record_exec *exec)
{
	struct record_head *head = &exec->head;
	bool leaves = head->kind == RECORD_LEAVE;
	struct event event;

	log_info("process %u: its exec of %s is reported late", head->pid,
		 leaves ? "a program that is not selected" : exec->path);
	head->time_ns = level_time(trace, head->time_ns);
	event = (struct event){.pid = head->pid, .tid = head->tid, .time_ns = head->time_ns};
	if (!leaves)
		return decode_exec(trace, head, &event);
	return processes_find(trace, (pid_t)head->pid) ? decode_end(trace, head, &event) : 0;
}

/* Children forked before the exec inherit the old image's model, so deliver them first. */
static int forks_before(struct trace_source *trace, pid_t parent, uint64_t before_ns)
{
	uint32_t pids[FORKS_DEFERRED];
	size_t count = trace->deferred->forks_of(trace, parent, before_ns, pids);
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = record_of_fork(trace, (pid_t)pids[i]);
	return err;
}

static int exec_before(struct trace_source *trace, pid_t pid, uint64_t before_ns)
{
	struct record_exec exec;
	int err;

	if (!trace->deferred || !trace->deferred->exec(trace, pid, before_ns, &exec))
		return 0;
	err = forks_before(trace, pid, exec.head.time_ns);
	return err ? err : deliver_exec(trace, &exec);
}

int record_of_exec(struct trace_source *trace, pid_t pid)
{
	return exec_before(trace, pid, UINT64_MAX);
}

int record_of_fork(struct trace_source *trace, pid_t pid)
{
	struct record_fork fork;
	struct event event;
	int err = 0;

	if (!trace->deferred || !trace->deferred->fork(trace, pid, &fork))
		return 0;
	err = exec_before(trace, pid, fork.head.time_ns); /* it had left, and is traced again */
	if (!err && !processes_find(trace, (pid_t)fork.parent))
		err = record_of_fork(trace, (pid_t)fork.parent);
	if (!err)
		err = exec_before(trace, (pid_t)fork.parent, fork.head.time_ns);
	fork.head.time_ns = level_time(trace, fork.head.time_ns);
	return err ? err : decode_fork(trace, &fork.head, &event);
}

int record_arrived(void *ctx, const void *data, size_t size)
{
	struct trace_source *trace = ctx;
	const struct record_head *head = data;
	struct event event;
	const struct decoder *decoder;
	int err = 0;

	if (size < sizeof(*head) || head->kind >= sizeof(decoders) / sizeof(decoders[0]))
		return 0;
	decoder = &decoders[head->kind];
	if (!decoder->decode || size < decoder->size)
		return 0;
	if (!processes_find(trace, (pid_t)head->pid))
		err = record_of_fork(trace, (pid_t)head->pid);
	if (err || !is_of_program(trace, head))
		return err;
	trace->calls_recorded += head->kind == RECORD_ALLOC || head->kind == RECORD_END;
	event = (struct event){
		.api = (enum api)head->api,
		.flags = head->flags,
		.pid = head->pid,
		.tid = head->tid,
		.time_ns = level_time(trace, head->time_ns),
	};
	return decoder->decode(trace, head, &event);
}

int record_of_end(struct trace_source *trace, const struct record_exit *end, struct event *event)
{
	if (trace->deferred)
		trace->deferred->forget(trace, (pid_t)end->head.pid);
	return decode_end(trace, &end->head, event);
}
