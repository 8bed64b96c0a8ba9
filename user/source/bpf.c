/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF source: records from the ring buffer become events. Which probes a process has is the
 * business of bpf_process.c; how programs are loaded and attached, of bpf_program.c.
 */
#include "source/source.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "mtrace.skel.h"
#include "source/bpf_process.h"
#include "source/ring.h"
#include "source/slice.h"
#include "source/stack_check.h"
#include "source/unwind_tables.h"

#define UNWIND_ROWS (1u << 21) /* 16 MiB, and 8 for pages: a thousand modules fit */

struct bpf_source {
	struct source source; /* first: what the session holds */
	struct source_config config;
	struct program program;
	struct unwind_tables *tables; /* NULL if stacks are not by tables */
	struct ring ring;
	struct slice_ids slices;
	struct bpf_process **processes; /* index: slot */
	size_t process_count, process_capacity;
	struct map64 slot_of_pid;
	uint64_t newest_ns; /* time of the newest event */
	int cpus;
};

static struct bpf_source *bpf_of(struct source *source)
{
	return (struct bpf_source *)source;
}

/* The newest process of that pid. */
static struct bpf_process *process_find(const struct bpf_source *bpf, pid_t pid)
{
	uint32_t slot = map64_get(&bpf->slot_of_pid, (uint64_t)pid);

	return slot == MAP64_NONE ? NULL : bpf->processes[slot];
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

static int decode_free(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	const struct record_free *record = (const void *)head;

	event->kind = EVENT_FREE;
	event->call = (struct event_call){.address = record->address, .caller = record->caller};
	return bpf->config.deliver(bpf->config.ctx, event);
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
	struct bpf_process *process = process_find(bpf, (pid_t)pid);
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

	if (slice_finish(process_find(bpf, (pid_t)head->pid), slice, bpf->config.depth, &stack))
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
	return bpf_process_mapping(process_find(bpf, (pid_t)head->pid), (const void *)head);
}

static int decode_exec(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	(void)event;
	return bpf_process_exec(process_find(bpf, (pid_t)head->pid), (const void *)head);
}

/*
 * Threads that end at the same moment may each find that no other is left (the kernel counts them
 * down before its tracepoint): the first to say so ends the process, the others add nothing.
 */
static int decode_exit(struct bpf_source *bpf, const struct record_head *head, struct event *event)
{
	struct bpf_process *process = process_find(bpf, (pid_t)head->pid);

	if (!process->alive)
		return 0;
	process->alive = false;
	event->kind = EVENT_EXIT;
	event->exit.code = ((const struct record_exit *)head)->code;
	return bpf->config.deliver(bpf->config.ctx, event);
}

static int decode_thread(struct bpf_source *bpf, const struct record_head *head,
			 struct event *event)
{
	if (!process_find(bpf, (pid_t)head->pid)->alive)
		return 0;
	event->kind = head->kind == RECORD_THREAD_ENDS ? EVENT_THREAD_ENDS : EVENT_THREAD_GONE;
	return bpf->config.deliver(bpf->config.ctx, event);
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
	[RECORD_EXIT] = {sizeof(struct record_exit), decode_exit},
	[RECORD_THREAD_ENDS] = {sizeof(struct record_head), decode_thread},
	[RECORD_THREAD_GONE] = {sizeof(struct record_head), decode_thread},
	[RECORD_SLICE] = {sizeof(struct record_slice), decode_slice},
};

/* What a held child does before its exec is our own code's doing. */
static bool is_of_program(const struct bpf_source *bpf, const struct record_head *head)
{
	const struct bpf_process *process = process_find(bpf, (pid_t)head->pid);

	return process && (!process->awaits_exec || head->kind == RECORD_EXEC);
}

/* Stamps come from a coarse clock (bpf/clock.bpf.h); order is the ring buffer's. */
static uint64_t level_time(struct bpf_source *bpf, uint64_t time_ns)
{
	if (time_ns > bpf->newest_ns)
		bpf->newest_ns = time_ns;
	return bpf->newest_ns;
}

static int record_arrived(void *ctx, const void *data, size_t size)
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

static int bpf_drain(struct source *source)
{
	struct bpf_source *bpf = bpf_of(source);

	return ring_read(&bpf->ring, record_arrived, bpf);
}

/*
 * Processes.
 */

static int process_add(struct bpf_source *bpf, pid_t pid, struct bpf_process **ret_process,
		       struct error *err)
{
	struct bpf_process *process;
	uint32_t key = (uint32_t)pid;

	if (bpf->process_count >= SLOT_MAX)
		return error_set(err, -E2BIG, "no more than %d processes at once", SLOT_MAX);
	process = calloc(1, sizeof(*process));
	if (!process ||
	    vec_reserve_bytes((void **)&bpf->processes, &bpf->process_capacity,
			      bpf->process_count + 1, sizeof(*bpf->processes)) ||
	    map64_set(&bpf->slot_of_pid, (uint64_t)pid, (uint32_t)bpf->process_count)) {
		free(process);
		return error_set(err, -ENOMEM, "out of memory");
	}
	process->config = &bpf->config;
	process->program = &bpf->program;
	process->tables = bpf->tables;
	process->pid = pid;
	process->slot = (uint32_t)bpf->process_count;
	process->alive = true;
	bpf->processes[bpf->process_count++] = process;
	*ret_process = process;
	if (bpf_map_update_elem(bpf_map__fd(bpf->program.skeleton->maps.processes), &key,
				&process->slot, BPF_ANY))
		return error_set_errno(err, -errno, "the BPF map of processes");
	return 0;
}

static void process_remove_last(struct bpf_source *bpf)
{
	struct bpf_process *process = bpf->processes[--bpf->process_count];
	uint32_t key = (uint32_t)process->pid;

	bpf_map_delete_elem(bpf_map__fd(bpf->program.skeleton->maps.processes), &key);
	map64_delete(&bpf->slot_of_pid, (uint64_t)process->pid);
	bpf_process_free(process);
	free(process);
}

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
	code = process_add(bpf, pid, &process, err);
	if (code)
		return code;
	code = bpf_process_attach(process, err);
	if (code)
		process_remove_last(bpf);
	return code;
}

static int bpf_attach_launch(struct source *source, pid_t pid, const char *program,
			     char *const *command, char *const *environment, struct error *err)
{
	struct bpf_source *bpf = bpf_of(source);
	struct bpf_process *process;
	int code = process_add(bpf, pid, &process, err);

	if (code)
		return code;
	code = bpf_process_attach_launch(process, program, command, environment, err);
	if (code)
		process_remove_last(bpf);
	return code;
}

static int bpf_fd(const struct source *source)
{
	return bpf_map__fd(((const struct bpf_source *)source)->program.skeleton->maps.events);
}

static uint32_t bpf_live(const struct source *source)
{
	const struct bpf_source *bpf = (const struct bpf_source *)source;
	uint32_t live = 0;

	for (size_t i = 0; i < bpf->process_count; i++)
		live += bpf->processes[i]->alive;
	return live;
}

static void losses_of_slot(const struct bpf_source *bpf, uint32_t slot,
			   uint64_t ret_count[LOSS_COUNT])
{
	struct slot_losses *of_cpu = calloc((size_t)bpf->cpus, sizeof(*of_cpu));

	memset(ret_count, 0, LOSS_COUNT * sizeof(*ret_count));
	if (of_cpu &&
	    !bpf_map_lookup_elem(bpf_map__fd(bpf->program.skeleton->maps.losses), &slot, of_cpu))
		for (int cpu = 0; cpu < bpf->cpus; cpu++)
			for (int loss = 0; loss < LOSS_COUNT; loss++)
				ret_count[loss] += of_cpu[cpu].count[loss];
	free(of_cpu);
}

static void bpf_losses(const struct source *source, pid_t pid, struct snapshot_losses *ret_losses)
{
	const struct bpf_source *bpf = (const struct bpf_source *)source;
	const struct bpf_process *process = process_find(bpf, pid);
	uint64_t count[LOSS_COUNT];

	*ret_losses = (struct snapshot_losses){0};
	if (!process)
		return;
	losses_of_slot(bpf, process->slot, count);
	ret_losses->events = count[LOSS_EVENTS] + count[LOSS_READ];
	ret_losses->stacks = count[LOSS_STACKS];
	ret_losses->missed_returns = count[LOSS_NO_RETURN] + count[LOSS_NO_STATE];
	ret_losses->unprobed_sites = process->unprobed_sites;
	ret_losses->gap_ns = process->gap_ns;
}

static void bpf_detach(struct source *source)
{
	struct bpf_source *bpf = bpf_of(source);

	for (size_t i = 0; i < bpf->process_count; i++)
		bpf_process_detach(bpf->processes[i]);
}

static void bpf_close(struct source *source)
{
	struct bpf_source *bpf = bpf_of(source);

	if (!bpf)
		return;
	while (bpf->process_count)
		process_remove_last(bpf);
	free(bpf->processes);
	map64_free(&bpf->slot_of_pid);
	ring_close(&bpf->ring);
	unwind_tables_free(bpf->tables);
	if (bpf->program.skeleton)
		program_unload(&bpf->program);
	free(bpf);
}

static uint64_t power_of_two(uint64_t bytes)
{
	uint64_t power = (uint64_t)sysconf(_SC_PAGESIZE);

	while (power < bytes)
		power *= 2;
	return power;
}

/* Stacks by tables, unless something else was asked for or nothing else works. */
static int load_programs(struct bpf_source *bpf, struct error *err)
{
	enum stack_mode stack = bpf->config.stack;
	struct program_config config = {
		.pairing = bpf->config.pairing,
		.depth = stack == STACK_NONE ? 0 : bpf->config.depth,
		.unwind_rows = stack == STACK_AUTO || stack == STACK_CFI ? UNWIND_ROWS : 0,
		.buffer_bytes = power_of_two(bpf->config.buffer_bytes),
	};
	int code = program_load(&bpf->program, &config, err);

	if (code && code != -EPERM && stack == STACK_AUTO) {
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
	if (bpf->program.unwinds)
		code = unwind_tables_new(&bpf->program, bpf->config.parser, &bpf->tables);
	if (code)
		return error_set_errno(err, code, "cannot reach the unwind tables");
	code = ring_open(&bpf->ring, bpf_map__fd(bpf->program.skeleton->maps.events),
			 power_of_two(bpf->config.buffer_bytes));
	if (code)
		return error_set_errno(err, code, "cannot read the ring buffer");
	return program_attach_tasks(&bpf->program, err);
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
	bpf->cpus = libbpf_num_possible_cpus();
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
		.fd = bpf_fd,
		.drain = bpf_drain,
		.losses = bpf_losses,
		.live = bpf_live,
		.detach = bpf_detach,
		.close = bpf_close,
	};

	return &ops;
}
