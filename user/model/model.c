/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/model.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "base/map64.h"
#include "base/vec.h"
#include "model/book.h"
#include "model/capture.h"
#include "model/process.h"
#include "model/scan_book.h"

#define PAGE_SIZE_DEFAULT 4096

struct model {
	struct model_config config;
	VEC(struct process *) processes; /* every image ever seen, in order of appearance */
	struct map64 by_pid;             /* those whose books are open */
	uint64_t dropped;
};

int model_new(struct model **ret_model, const struct model_config *config)
{
	struct model *model = calloc(1, sizeof(*model));

	if (!model)
		return -ENOMEM;
	model->config = *config;
	if (!model->config.page_size)
		model->config.page_size = PAGE_SIZE_DEFAULT;
	*ret_model = model;
	return 0;
}

void model_free(struct model *model)
{
	struct process **process;

	if (!model)
		return;
	vec_each (process, &model->processes)
		process_free(*process);
	vec_free(&model->processes);
	map64_free(&model->by_pid);
	free(model);
}

struct process *model_process(const struct model *model, uint32_t pid)
{
	uint32_t index = map64_get(&model->by_pid, pid);

	return index == MAP64_NONE ? NULL : model->processes.items[index];
}

static int model_open(struct model *model, const struct event *event, uint32_t image)
{
	struct process *process;

	if (vec_reserve(&model->processes, model->processes.count + 1) ||
	    process_new(&process, event, &model->config))
		return -ENOMEM;
	if (map64_set(&model->by_pid, event->pid, (uint32_t)model->processes.count)) {
		process_free(process);
		return -ENOMEM;
	}
	process->image = image;
	model->processes.items[model->processes.count++] = process;
	return 0;
}

static const struct book *book_of(enum api api)
{
	return api_row(api)->family == FAMILY_MAP ? &book_map : &book_heap;
}

static const char *end_unscanned(const struct process *process)
{
	if (process->replaced)
		return "it was replaced by another program (exec), and its memory with it";
	if (WIFSIGNALED(process->exit_code) && WTERMSIG(process->exit_code) == SIGKILL)
		return "it was killed by SIGKILL, which nobody can hold";
	return "it ended before it was scanned";
}

/* The end of an image: calls that are pending never return, so nothing came of them. */
static void model_close(struct process *process, uint64_t now_ns)
{
	struct pending pending;

	while (pendings_pop_any(&process->pendings, &pending))
		(void)book_of((enum api)pending.api)->undo(process, &pending);
	if (process->config->scans && !process->scan.done && !process->scan_reason)
		(void)scan_book_fail(process, end_unscanned(process));
	process_close(process, now_ns);
}

/* The process is known already, or new, or has the recycled pid of one whose exit was not seen. */
static int handle_process(struct model *model, struct process *process, const struct event *event)
{
	int err;

	if (process && process->start_time_ns == event->process.start_time_ns)
		return 0;
	err = model_open(model, event, 0);
	if (!err && process)
		model_close(process, event->time_ns);
	return err;
}

static int handle_exec(struct model *model, struct process *process, const struct event *event)
{
	int err = model_open(model, event, process->image + 1);

	if (err)
		return err;
	process->replaced = true;
	model_close(process, event->time_ns);
	return 0;
}

static int handle_exit(struct model *model, struct process *process, const struct event *event)
{
	process->exited = true;
	process->exit_code = event->exit.code;
	model_close(process, event->time_ns);
	map64_delete(&model->by_pid, event->pid);
	return 0;
}

static int handle_losses(struct model *model, struct process *process, const struct event *event)
{
	(void)model;
	process->told = *event->losses;
	return 0;
}

static int handle_thread_ends(struct model *model, struct process *process,
			      const struct event *event)
{
	(void)model;
	return map64_set(&process->ending, event->tid, 1);
}

static int handle_thread_gone(struct model *model, struct process *process,
			      const struct event *event)
{
	(void)model;
	map64_delete(&process->ending, event->tid);
	return 0;
}

static int handle_mapping(struct model *model, struct process *process, const struct event *event)
{
	(void)model;
	return mappings_add(&process->mappings, &event->mapping);
}

static int handle_wrapper(struct model *model, struct process *process, const struct event *event)
{
	if (event->wrapper.api <= API_NONE || event->wrapper.api >= API_COUNT) {
		model->dropped++;
		return 0;
	}
	return mappings_add_wrapper(&process->mappings, &event->wrapper);
}

static int handle_stack(struct model *model, struct process *process, const struct event *event)
{
	(void)model;
	return stacks_add(&process->stacks, event, process->mappings.clock);
}

static int handle_alloc(struct model *model, struct process *process, const struct event *event)
{
	if (!api_allocates(event->api)) {
		model->dropped++;
		return 0;
	}
	return book_of(event->api)->end(process, event, NULL);
}

static int handle_free(struct model *model, struct process *process, const struct event *event)
{
	if (!(api_row(event->api)->flags & COOKIE_FLAG_FREE)) {
		model->dropped++;
		return 0;
	}
	return book_free(process, event);
}

static int abandon(struct process *process, const struct pending *pending)
{
	process->found.missed_returns++;
	return book_of((enum api)pending->api)->undo(process, pending);
}

/*
 * Take the thread's pending call of the event's api. Those that interrupted it and are pending
 * still have never returned (longjmp).
 */
static int take_pending(struct process *process, const struct event *event,
			struct pending *ret_pending)
{
	int err = 0;

	while (pendings_pop(&process->pendings, event->tid, ret_pending) &&
	       ret_pending->api != event->api)
		if (abandon(process, ret_pending))
			err = -ENOMEM;
	return err;
}

static int handle_begin(struct model *model, struct process *process, const struct event *event)
{
	struct pending former, pending = {.tid = event->tid,
					  .api = (uint8_t)event->api,
					  .caller = event->call.caller};
	const struct book *book = book_of(event->api);
	int err;

	if (!(api_row(event->api)->flags & COOKIE_FLAG_BEGIN)) {
		model->dropped++;
		return 0;
	}
	if (pendings_has(&process->pendings, event->tid, pending.api)) {
		err = take_pending(process, event, &former);
		if (abandon(process, &former) || err)
			return -ENOMEM;
	}
	err = book->begin(process, event, &pending);
	if (err)
		return err;
	err = pendings_push(&process->pendings, &pending);
	if (err)
		(void)book->undo(process, &pending);
	return err;
}

static int handle_end(struct model *model, struct process *process, const struct event *event)
{
	const struct book *book = book_of(event->api);
	struct pending pending;
	int err, end_err;

	if (!pendings_has(&process->pendings, event->tid, (uint8_t)event->api)) {
		if (api_allocates(event->api))
			return book->end(process, event, NULL);
		/* A munmap whose begin was lost, or given up, is a loss that was counted then. */
		model->dropped += !(api_row(event->api)->flags & COOKIE_FLAG_BEGIN);
		return 0;
	}
	err = take_pending(process, event, &pending);
	end_err = book->end(process, event, &pending);
	return err ? err : end_err;
}

static int (*const handlers[EVENT_KIND_COUNT])(struct model *, struct process *,
					       const struct event *) = {
	[EVENT_PROCESS] = handle_process,
	[EVENT_EXEC] = handle_exec,
	[EVENT_EXIT] = handle_exit,
	[EVENT_LOSSES] = handle_losses,
	[EVENT_MAPPING] = handle_mapping,
	[EVENT_WRAPPER] = handle_wrapper,
	[EVENT_STACK] = handle_stack,
	[EVENT_ALLOC] = handle_alloc,
	[EVENT_FREE] = handle_free,
	[EVENT_BEGIN] = handle_begin,
	[EVENT_END] = handle_end,
	[EVENT_THREAD_ENDS] = handle_thread_ends,
	[EVENT_THREAD_GONE] = handle_thread_gone,
};

static bool names_a_call(enum event_kind kind)
{
	return kind >= EVENT_ALLOC;
}

int model_event(struct model *model, const struct event *event)
{
	struct process *process = model_process(model, event->pid);
	bool known = process || event->kind == EVENT_PROCESS;

	if ((unsigned int)event->kind >= EVENT_KIND_COUNT || !handlers[event->kind] || !known ||
	    (names_a_call(event->kind) &&
	     (event->api == API_NONE || (unsigned int)event->api >= API_COUNT))) {
		model->dropped++;
		return 0;
	}
	return handlers[event->kind](model, process, event);
}

static int capture_processes(const struct model *model, uint64_t now_ns, struct snapshot *snapshot)
{
	size_t count = model->processes.count;

	snapshot->processes = snapshot_alloc(snapshot, count * sizeof(*snapshot->processes));
	if (!snapshot->processes)
		return -ENOMEM;
	snapshot->process_count = count;
	for (size_t i = 0; i < count; i++)
		if (capture_process(snapshot, model->processes.items[i], now_ns,
				    &snapshot->processes[i]))
			return -ENOMEM;
	return 0;
}

int model_snapshot(const struct model *model, uint64_t now_ns, struct snapshot **ret_snapshot)
{
	struct snapshot *snapshot = snapshot_new();
	struct timespec now;

	if (!snapshot)
		return -ENOMEM;
	clock_gettime(CLOCK_REALTIME, &now);
	snapshot->taken_ns = now_ns;
	snapshot->dropped = model->dropped;
	snapshot->taken_at = now.tv_sec;
	snapshot->taken_at_ms = (uint32_t)(now.tv_nsec / 1000000);
	snapshot->version = snapshot_string(snapshot, MTRACE_VERSION);
	if (!snapshot->version || capture_processes(model, now_ns, snapshot)) {
		snapshot_free(snapshot);
		return -ENOMEM;
	}
	*ret_snapshot = snapshot;
	return 0;
}

size_t model_memory(const struct model *model)
{
	struct process *const *process;
	size_t bytes = 0;

	vec_each (process, &model->processes)
		bytes += (*process)->heap.bytes;
	return bytes;
}
