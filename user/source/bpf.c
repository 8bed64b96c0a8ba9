/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF source: records from the ring buffer become events. Which probes a process has is the
 * business of bpf_process.c; how programs are loaded and attached, of bpf_program.c.
 */
#include "source/source.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "mtrace.skel.h"
#include "source/bpf_leader.h"
#include "source/bpf_probes.h"
#include "source/bpf_source.h"
#include "source/bpf_system.h"
#include "source/bpf_translated.h"
#include "source/file_key.h"
#include "source/ring.h"
#include "source/selection.h"
#include "source/slice.h"
#include "source/stack_check.h"
#include "source/translator.h"
#include "source/unwind_tables.h"

#define HELD_AT_ONCE 64
#define UNWIND_ROWS  (1u << 21) /* 16 MiB, and 8 for pages: a thousand modules fit */

static struct bpf_source *bpf_of(struct source *source)
{
	return (struct bpf_source *)source;
}

/*
 * Records to events.
 */

static int decode_call(struct bpf_source *bpf, const struct record_head *head, struct event *event)
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
		.stack = slice_stack(&bpf->slices, call->stack),
	};
	return bpf->config.deliver(bpf->config.ctx, event);
}

/* `object`: which of the process's allocators frees. */
static int deliver_free(struct bpf_source *bpf, const struct record_head *head, struct event *event,
			uint8_t object)
{
	struct bpf_process *process = processes_find(bpf, (pid_t)head->pid);

	if (bpf_process_is_nested_free(process, head->tid, event->call.address, object))
		event->flags |= EVENT_FLAG_NESTED;
	return bpf->config.deliver(bpf->config.ctx, event);
}

static int decode_free(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	const struct record_free *record = (const void *)head;

	event->kind = EVENT_FREE;
	event->flags = 0;
	event->call = (struct event_call){
		.address = record->address, .caller = record->caller, .size = SIZE_UNTOLD};
	return deliver_free(bpf, head, event, (uint8_t)(head->flags >> RECORD_OBJECT_SHIFT));
}

static int decode_release(struct bpf_source *bpf, const struct record_head *head,
			  struct event *event)
{
	const struct record_release *record = (const void *)head;

	event->kind = EVENT_FREE;
	event->call = (struct event_call){
		.address = record->address,
		.size = record->size,
		.slack = record->slack,
		.caller = record->caller,
		.stack = slice_stack(&bpf->slices, record->stack),
	};
	return deliver_free(bpf, head, event, (uint8_t)record->object);
}

static int decode_begin(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	const struct record_begin *begin = (const void *)head;

	event->kind = EVENT_BEGIN;
	event->call = (struct event_call){.caller = begin->caller};
	memcpy(event->call.args, begin->args, sizeof(begin->args));
	return bpf->config.deliver(bpf->config.ctx, event);
}

/* A stack that cannot be right to its end is cut. The outermost frame of all may be one that nobody
 * has called: where a coroutine begins. */
static struct event_stack checked_stack(const struct bpf_source *bpf, uint32_t pid,
					struct event_stack stack)
{
	struct bpf_process *process = processes_find(bpf, (pid_t)pid);
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

static int deliver_stack(struct bpf_source *bpf, struct event *event, struct event_stack stack)
{
	event->kind = EVENT_STACK;
	event->stack = checked_stack(bpf, event->pid, stack);
	if (event->stack.stop != STOP_END && event->stack.stop != STOP_UNKNOWN)
		event->flags |= EVENT_FLAG_TRUNCATED;
	return bpf->config.deliver(bpf->config.ctx, event);
}

static int decode_stack(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	const struct record_stack *stack = (const void *)head;

	if (stack->count > (head->length - sizeof(*stack)) / sizeof(uint64_t))
		return 0;
	return deliver_stack(bpf, event,
			     (struct event_stack){
				     .id = stack->id,
				     .frames = (const uint64_t *)(stack + 1),
				     .count = stack->count,
				     .stop = stack->stop,
			     });
}

static int decode_slice(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	const struct record_slice *slice = (const void *)head;
	struct finished_stack stack;

	if (slice_finish(processes_find(bpf, (pid_t)head->pid), slice, bpf->config.depth, &stack))
		return 0;
	slice_remember(&bpf->slices, slice->id, stack.id);
	return deliver_stack(bpf, event,
			     (struct event_stack){
				     .id = stack.id,
				     .frames = stack.frames,
				     .count = stack.count,
				     .stop = stack.stop,
			     });
}

static int decode_mapping(struct bpf_source *bpf, const struct record_head *head,
			  struct event *event)
{
	(void)event;
	return bpf_process_mapping(processes_find(bpf, (pid_t)head->pid), (const void *)head);
}

/* A child. One whose parent was not known (it came while we began) is looked at like any other. */
static int decode_fork(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	const struct record_fork *fork = (const void *)head;
	const struct bpf_process *parent = processes_find(bpf, (pid_t)fork->parent);
	struct bpf_process *former = processes_find(bpf, (pid_t)head->pid), *process;
	struct error err;
	int code;

	(void)event;
	if (parent && parent->awaits_exec)
		return 0;
	if (former)
		processes_remove(bpf, former);
	code = processes_new(bpf, (pid_t)head->pid, &process);
	if (code)
		return code;
	if (parent)
		return bpf_process_fork(process, parent, fork);
	code = bpf_process_attach(process, &err);
	return code == -ENOMEM ? code : 0;
}

static int decode_exec(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	struct bpf_process *process = processes_find(bpf, (pid_t)head->pid);
	const struct record_exec *exec = (const void *)head;
	int err = 0;

	(void)event;
	if (!process) {
		err = processes_new(bpf, (pid_t)head->pid, &process);
		if (err)
			return err;
		process->awaits_exec = true;
	}
	if (translator_is_path(exec->path))
		err = translated_leave(bpf, process, head->time_ns, false);
	return err ? err : bpf_process_exec(process, exec);
}

static int decode_end(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	struct bpf_process *process = processes_find(bpf, (pid_t)head->pid);
	const struct record_exit *end = (const void *)head;
	int err = processes_tell_losses(process, end->losses);

	event->kind = head->kind == RECORD_EXIT ? EVENT_EXIT : EVENT_LEAVE;
	event->exit.code = end->code;
	processes_remove(bpf, process);
	return err ? err : bpf->config.deliver(bpf->config.ctx, event);
}

static int decode_thread(struct bpf_source *bpf, const struct record_head *head,
			 struct event *event)
{
	event->kind = head->kind == RECORD_THREAD_ENDS ? EVENT_THREAD_ENDS : EVENT_THREAD_GONE;
	return bpf->config.deliver(bpf->config.ctx, event);
}

static int decode_leader(struct bpf_source *bpf, const struct record_head *head,
			 struct event *event)
{
	(void)event;
	return bpf_leader_lost(processes_find(bpf, (pid_t)head->pid), &bpf->shared);
}

static int decode_held(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	(void)event;
	return bpf->held ? bpf->held(bpf, head) : 0;
}

struct decoder {
	size_t size; /* at least */
	int (*decode)(struct bpf_source *bpf, const struct record_head *head, struct event *event);
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
	[RECORD_THREAD_ENDS] = {sizeof(struct record_head), decode_thread},
	[RECORD_THREAD_GONE] = {sizeof(struct record_head), decode_thread},
	[RECORD_SLICE] = {sizeof(struct record_slice), decode_slice},
	[RECORD_FORK] = {sizeof(struct record_fork), decode_fork},
	[RECORD_LEAVE] = {sizeof(struct record_exit), decode_end},
	[RECORD_LEADER_GONE] = {sizeof(struct record_head), decode_leader},
	[RECORD_RELEASE] = {sizeof(struct record_release), decode_release},
	[RECORD_HELD] = {sizeof(struct record_head), decode_held},
	[RECORD_AT_END] = {sizeof(struct record_head), decode_held},
};

/* What a held child does before its exec is our own code's doing. */
static bool is_of_tracer(const struct record_head *head)
{
	return head->kind == RECORD_HELD || head->kind == RECORD_AT_END;
}

static bool is_of_program(const struct bpf_source *bpf, const struct record_head *head)
{
	const struct bpf_process *process = processes_find(bpf, (pid_t)head->pid);

	if (is_of_tracer(head))
		return true;
	if (!process)
		return head->kind == RECORD_FORK ||
		       (head->kind == RECORD_EXEC && head->flags & RECORD_FLAG_NEWBORN);
	return !process->awaits_exec || head->kind == RECORD_EXEC;
}

/* Stamps come from a coarse clock (bpf/clock.bpf.h); order is the ring buffer's. */
static uint64_t level_time(struct bpf_source *bpf, uint64_t time_ns)
{
	if (time_ns > bpf->newest_ns)
		bpf->newest_ns = time_ns;
	return bpf->newest_ns;
}

int record_arrived(void *ctx, const void *data, size_t size)
{
	struct bpf_source *bpf = ctx;
	const struct record_head *head = data;
	struct event event;
	const struct decoder *decoder;

	if (size < sizeof(*head) || head->kind >= sizeof(decoders) / sizeof(decoders[0]))
		return 0;
	decoder = &decoders[head->kind];
	if (!decoder->decode || size < decoder->size || !is_of_program(bpf, head))
		return 0;
	event = (struct event){
		.api = (enum api)head->api,
		.flags = head->flags,
		.pid = head->pid,
		.tid = head->tid,
		.time_ns = level_time(bpf, head->time_ns),
	};
	return decoder->decode(bpf, head, &event);
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/*
 * Where the record of its end was lost, a process would be waited for in vain. Once it is gone, all
 * that it has left is in the ring buffer: only what is still not known then was lost.
 */
static int look_after_one(struct bpf_source *bpf)
{
	struct record_exit end = {.head = {.kind = RECORD_EXIT}};
	struct event event = {0};
	pid_t pid;
	int err;

	if (!bpf->process_count)
		return 0;
	pid = bpf->processes[bpf->looked_after++ % bpf->process_count]->pid;
	if (!is_gone(pid))
		return 0;
	err = ring_read(&bpf->ring, record_arrived, bpf);
	if (err || !processes_find(bpf, pid) || !is_gone(pid))
		return err;
	end.head.pid = event.pid = event.tid = (uint32_t)pid;
	event.time_ns = bpf->newest_ns;
	processes_losses(bpf, pid, end.losses);
	return decode_end(bpf, &end.head, &event);
}

/* Who waits was born before that, of which the ring buffer tells. */
static int serve_held(struct bpf_source *bpf)
{
	struct held_exec held;
	int err = 0;

	for (int i = 0; !err && i < HELD_AT_ONCE && hold_take(bpf, &held); i++) {
		err = ring_read(&bpf->ring, record_arrived, bpf);
		if (err)
			close(held.file);
		else
			err = hold_serve(bpf, &held);
	}
	return err;
}

static int bpf_drain(struct source *source)
{
	struct bpf_source *bpf = bpf_of(source);
	int err = translated_look_after(bpf);

	if (!err)
		err = ring_read(&bpf->ring, record_arrived, bpf);
	if (!err)
		err = serve_held(bpf);
	return err ? err : look_after_one(bpf);
}

/*
 * Processes.
 */

static int check_seccomp(const struct bpf_source *bpf, pid_t pid, struct error *err)
{
	struct proc_info info;
	bool confined;
	int code;

	if (bpf->program.seccomp_safe)
		return 0;
	code = proc_info_read(pid, &info);
	if (code)
		return error_set(err, code, "%s", strerror(-code));
	confined = info.seccomp;
	proc_info_free(&info);
	return confined ? error_set(err, -EOPNOTSUPP,
				    "it is confined by seccomp, and this kernel kills such "
				    "processes at a return probe (Linux 6.14 does not)")
			: 0;
}

static int bpf_attach(struct source *source, pid_t pid, struct error *err)
{
	struct bpf_source *bpf = bpf_of(source);
	struct bpf_process *process;
	int code = check_seccomp(bpf, pid, err);

	if (code)
		return code;
	code = processes_enter(bpf, pid, &process, err);
	if (code)
		return code;
	if (proc_living_thread(pid) != pid)
		code = bpf_leader_lost(process, &bpf->shared);
	if (code)
		error_set_errno(err, code, "it has lost its first thread");
	else
		code = bpf_process_attach(process, err);
	if (code)
		processes_forget(bpf, process);
	return code;
}

static int bpf_attach_launch(struct source *source, pid_t pid, const char *program,
			     char *const *command, char *const *environment, struct error *err)
{
	struct bpf_source *bpf = bpf_of(source);
	struct bpf_process *process;
	int code = processes_enter(bpf, pid, &process, err);

	if (code)
		return code;
	code = bpf_process_attach_launch(process, program, command, environment, err);
	if (code)
		processes_forget(bpf, process);
	return code;
}

static int bpf_fd(const struct source *source)
{
	return bpf_map__fd(((const struct bpf_source *)source)->program.skeleton->maps.events);
}

static int bpf_hold_fd(const struct source *source)
{
	return hold_fd((const struct bpf_source *)source);
}

static uint32_t bpf_live(const struct source *source)
{
	return (uint32_t)((const struct bpf_source *)source)->process_count;
}

static int bpf_tell_losses(struct source *source)
{
	const struct bpf_source *bpf = bpf_of(source);
	uint64_t losses[LOSS_COUNT];
	int err = 0;

	for (size_t i = 0; !err && i < bpf->process_count; i++) {
		processes_losses(bpf, bpf->processes[i]->pid, losses);
		err = processes_tell_losses(bpf->processes[i], losses);
	}
	return err;
}

static void bpf_detach(struct source *source)
{
	struct bpf_source *bpf = bpf_of(source);

	hold_close(bpf);
	for (size_t i = 0; i < bpf->process_count; i++)
		bpf_process_detach(bpf->processes[i]);
	probe_links_close(&bpf->shared.links);
}

static void bpf_close(struct source *source)
{
	struct bpf_source *bpf = bpf_of(source);

	if (!bpf)
		return;
	hold_close(bpf);
	while (bpf->process_count)
		processes_forget(bpf, bpf->processes[bpf->process_count - 1]);
	free(bpf->processes);
	map64_free(&bpf->index_of_pid);
	probe_links_close(&bpf->shared.links);
	map64_free(&bpf->shared.attached);
	vec_free(&bpf->shared.placed_ns);
	ring_close(&bpf->ring);
	unwind_tables_free(bpf->tables);
	module_table_set_identifier(bpf->config.modules, (struct module_identifier){0});
	if (bpf->program.skeleton)
		program_unload(&bpf->program);
	free(bpf);
}

/* Stacks by tables, unless something else was asked for or nothing else works. */
static int load_programs(struct bpf_source *bpf, struct error *err)
{
	enum stack_mode stack = bpf->config.stack;
	struct program_config config = {
		.pairing = bpf->config.pairing,
		.depth = stack == STACK_NONE ? 0 : bpf->config.depth,
		.unwind_rows = stack == STACK_AUTO || stack == STACK_CFI ? UNWIND_ROWS : 0,
		.buffer_bytes = ring_size(bpf->config.buffer_bytes),
		.scope = bpf->config.scope,
		.selection = bpf->config.selected ? &bpf->config.selected->rules : NULL,
		.sanity = bpf->config.sanity,
	};
	int code = program_load(&bpf->program, &config, err);

	if (code && code != -EPERM && code != -EXDEV && stack == STACK_AUTO) {
		config.unwind_rows = 0;
		code = program_load(&bpf->program, &config, err);
	}
	return code;
}

static int bpf_start(struct bpf_source *bpf, struct error *err)
{
	int code = load_programs(bpf, err);

	if (code)
		return code;
	module_table_set_identifier(bpf->config.modules, file_key_identifier(&bpf->program));
	if (bpf->program.everybody && !bpf->program.seccomp_safe)
		return error_set(err, -EOPNOTSUPP,
				 "this kernel kills programs that seccomp confines at a return "
				 "probe (Linux 6.14 does not), and would have probes in all of "
				 "them: name the processes with --pid");
	if (bpf->program.unwinds)
		code = unwind_tables_new(&bpf->program, bpf->config.parser, &bpf->tables);
	if (code)
		return error_set_errno(err, code, "cannot reach the unwind tables");
	code = ring_open(&bpf->ring, bpf_map__fd(bpf->program.skeleton->maps.events),
			 ring_size(bpf->config.buffer_bytes));
	if (code)
		return error_set_errno(err, code, "cannot read the ring buffer");
	code = system_select(bpf);
	if (code)
		return error_set_errno(err, code, "cannot select programs");
	code = program_attach_tasks(&bpf->program, err);
	/* With everything that runs still to be found, programs would wait long. */
	return code || bpf->config.scope == SCOPE_SYSTEM ? code : hold_open(bpf, err);
}

static int bpf_open(struct source **ret_source, const struct source_config *config,
		    struct error *err)
{
	struct bpf_source *bpf = calloc(1, sizeof(*bpf));
	int code;

	if (!bpf)
		return error_set_errno(err, -ENOMEM, "cannot start");
	bpf->source.ops = source_bpf();
	bpf->config = *config;
	bpf->probe_ops = &bpf_probe_ops;
	code = bpf_start(bpf, err);
	if (code) {
		bpf_close(&bpf->source);
		return code;
	}
	*ret_source = &bpf->source;
	return 0;
}

const struct source_ops *source_bpf(void)
{
	static const struct source_ops ops = {
		.name = "bpf",
		.open = bpf_open,
		.attach = bpf_attach,
		.attach_launch = bpf_attach_launch,
		.attach_all = system_attach,
		.fd = bpf_fd,
		.hold_fd = bpf_hold_fd,
		.drain = bpf_drain,
		.tell_losses = bpf_tell_losses,
		.live = bpf_live,
		.detach = bpf_detach,
		.close = bpf_close,
	};

	return &ops;
}
