/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/model.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "model/update/heap.h"
#include "model/update/map.h"
#include "model/update/scan.h"
#include "model/config.h"
#include "model/limit.h"
#include "model/parts.h"
#include "model/process/process.h"
#include "model/process/reset.h"
#include "model/process/state.h"
#include "model/snapshot/capture.h"

#define NO_THREAD                0 /* reserved by the kernel: no process has it */
#define PAGE_SIZE_DEFAULT        4096
#define MAX_SITES_DEFAULT        131072
#define MAX_CLOSED_DEFAULT       1000
#define MAX_CLOSED_SITES_DEFAULT 262144
#define MAX_SERIES_DEFAULT       16384

static void config_complete(struct model_config *config)
{
	if (!config->page_size)
		config->page_size = PAGE_SIZE_DEFAULT;
	if (!config->max_sites)
		config->max_sites = MAX_SITES_DEFAULT;
	if (!config->max_closed)
		config->max_closed = MAX_CLOSED_DEFAULT;
	if (!config->max_closed_sites)
		config->max_closed_sites = MAX_CLOSED_SITES_DEFAULT;
	if (!config->max_series)
		config->max_series = MAX_SERIES_DEFAULT;
}

int model_new(struct model **ret_model, const struct model_config *config)
{
	struct model *model = calloc(1, sizeof(*model));

	if (!model)
		return -ENOMEM;
	model->config = *config;
	config_complete(&model->config);
	model->series.max = model->config.max_series;
	model->config.series = &model->series;
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

struct process *model_process_by_number(const struct model *model, uint32_t number)
{
	for (size_t i = model->processes.count; i-- > 0;) {
		struct process *process = model->processes.items[i];

		if (process && process->number == number)
			return process;
	}
	return NULL;
}

int model_pids(const struct model *model, uint32_t **ret_pids, size_t *ret_count)
{
	uint32_t *pids = calloc(model->processes.count + 1, sizeof(*pids));
	struct process *const *process;
	size_t count = 0;

	if (!pids)
		return -ENOMEM;
	vec_each (process, &model->processes)
		if (*process && !(*process)->closed)
			pids[count++] = process_pid(*process);
	*ret_pids = pids;
	*ret_count = count;
	return 0;
}

/* Adds a new process with this pid. Returns 0 or -ENOMEM, and then frees it. */
static int model_add(struct model *model, uint32_t pid, struct process *process)
{
	uint32_t index = (uint32_t)model->processes.count;

	if (vec_reserve(&model->processes, index + 1) || map64_set(&model->by_pid, pid, index)) {
		process_free(process);
		return -ENOMEM;
	}
	model->processes.items[model->processes.count++] = process;
	return 0;
}

int model_enter(struct model *model, struct process *process)
{
	uint32_t index = (uint32_t)model->processes.count;
	const struct user *user;

	if (vec_reserve(&model->processes, index + 1))
		return -ENOMEM;
	for (size_t i = 0; i < process->users.count && !process->closed; i++) {
		user = &process->users.items[i];
		if (map64_get(&model->by_pid, user->pid) != MAP64_NONE)
			return -EBADMSG;
	}
	for (size_t i = 0; i < process->users.count && !process->closed; i++)
		if (map64_set(&model->by_pid, process->users.items[i].pid, index))
			return -ENOMEM;
	model->processes.items[model->processes.count++] = process;
	model->closed += process->closed;
	model->closed_sites += process->closed ? process->sites.count : 0;
	return 0;
}

static int model_open(struct model *model, const struct event *event, uint32_t image)
{
	struct process *process;

	if (process_new(&process, event, &model->config, model->opened++))
		return -ENOMEM;
	process->image = image;
	process->paused = model->paused;
	return model_add(model, event->pid, process);
}

static const struct update_ops *update_ops_of(enum api api)
{
	return api_row(api)->family == FAMILY_MAP ? &update_map : &update_heap;
}

static const char *end_unscanned(const struct process *process)
{
	if (process->left)
		return "it was no longer traced";
	if (process->replaced)
		return "exec replaced the program and its memory";
	if (WIFSIGNALED(process->exit_code) && WTERMSIG(process->exit_code) == SIGKILL)
		return "it was killed by SIGKILL, which cannot be intercepted";
	if (process->config->exits_unseen)
		return "it exited before the trace ended: --system-wide scans only running "
		       "processes";
	return "it exited before it was scanned";
}

/* Handles the end of an image. Pending calls never return, so they have no effect. */
static void model_close(struct model *model, struct process *process, uint64_t now_ns)
{
	struct pending pending;

	while (pendings_pop_others(&process->pendings, NO_THREAD, &pending))
		(void)update_ops_of((enum api)pending.api)->undo(process, &pending);
	if (process->config->scans && !process->scan.done && !process->scan_reason)
		(void)scan_update_fail(process, end_unscanned(process));
	process_close(process, now_ns);
	model->closed++;
	model->closed_sites += process->sites.count;
	limit_closed(model);
}

/* The first user determines the pid of the process. If it changes, this is no longer that pid's
 * first image. */
static void user_remove(struct process *process, struct user *user)
{
	struct user *end = process->users.items + process->users.count;
	bool first = user == process->users.items;

	snapshot_losses_add(&process->losses, &user->losses);
	memmove(user, user + 1, (size_t)(end - user - 1) * sizeof(*user));
	process->users.count--;
	if (first)
		process->image = 0;
}

/* Removes a user. Returns true if it is the last one, so the process must be closed. */
static bool process_release(struct process *process, uint32_t pid)
{
	struct pending pending;

	if (process->users.count == 1)
		return true;
	while (pendings_pop(&process->pendings, pid, &pending))
		(void)update_ops_of((enum api)pending.api)->undo(process, &pending);
	user_remove(process, process_user(process, pid));
	return false;
}

/* The pid was reused: the exit of the former process was not seen. */
static void model_forget(struct model *model, struct process *process, const struct event *event)
{
	if (process_release(process, event->pid))
		model_close(model, process, event->time_ns);
}

/* The process may be known, or new, or have the reused pid of one whose exit was not seen. */
static int handle_process(struct model *model, struct process *process, const struct event *event)
{
	int err;

	if (process &&
	    process_user(process, event->pid)->start_time_ns == event->process.start_time_ns)
		return 0;
	err = model_open(model, event, 0);
	if (!err && process)
		model_forget(model, process, event);
	return err;
}

/* The child has only the thread that forked; pending calls of other threads never end in it. */
static int pendings_inherit(struct process *child, const struct event *event)
{
	struct pending pending;
	int err = 0;

	while (!err && pendings_pop_others(&child->pendings, event->tid, &pending))
		err = update_ops_of((enum api)pending.api)->undo(child, &pending);
	return err ? err : pendings_rename(&child->pendings, event->pid);
}

static int fork_copy(struct model *model, const struct process *parent, const struct event *event)
{
	struct process *child;
	int err = process_fork(&child, parent, event, model->opened++);

	if (err)
		return err;
	err = pendings_inherit(child, event);
	if (!err && map64_get(&parent->ending, event->tid) != MAP64_NONE)
		err = map64_set(&child->ending, event->pid, 1);
	if (!err)
		return model_add(model, event->pid, child);
	process_free(child);
	return err;
}

static int fork_share(struct model *model, struct process *parent, const struct event *event)
{
	struct user user = {event->pid, event->fork.parent, event->fork.start_time_ns, {0}, 0};
	uint32_t index = map64_get(&model->by_pid, event->fork.parent);

	if (vec_reserve(&parent->users, parent->users.count + 1) ||
	    map64_set(&model->by_pid, event->pid, index))
		return -ENOMEM;
	parent->users.items[parent->users.count++] = user;
	return 0;
}

/* As in handle_process, the pid may be known or reused. */
static int handle_fork(struct model *model, struct process *former, const struct event *event)
{
	struct process *parent = model_process(model, event->fork.parent);

	if (former && process_user(former, event->pid)->start_time_ns == event->fork.start_time_ns)
		return 0;
	if (former) {
		map64_delete(&model->by_pid, event->pid);
		model_forget(model, former, event);
	}
	if (!parent || event->pid == event->fork.parent) {
		model->dropped++;
		return 0;
	}
	return event->fork.shares_memory ? fork_share(model, parent, event)
					 : fork_copy(model, parent, event);
}

static int handle_exec(struct model *model, struct process *process, const struct event *event)
{
	bool first = process_pid(process) == event->pid;
	int err = model_open(model, event, first ? process->image + 1 : 0);

	if (!err)
		model_process(model, event->pid)->paused = process->paused;
	if (err || !process_release(process, event->pid))
		return err;
	process->replaced = true;
	model_close(model, process, event->time_ns);
	return 0;
}

static int handle_exit(struct model *model, struct process *process, const struct event *event)
{
	map64_delete(&model->by_pid, event->pid);
	if (!process_release(process, event->pid))
		return 0;
	process->exited = true;
	process->exit_code = event->exit.code;
	model_close(model, process, event->time_ns);
	return 0;
}

static int handle_leave(struct model *model, struct process *process, const struct event *event)
{
	map64_delete(&model->by_pid, event->pid);
	if (!process_release(process, event->pid))
		return 0;
	process->left = true;
	model_close(model, process, event->time_ns);
	return 0;
}

static int handle_losses(struct model *model, struct process *process, const struct event *event)
{
	(void)model;
	process_user(process, event->pid)->losses = *event->losses;
	return 0;
}

static int handle_thread_exits(struct model *model, struct process *process,
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
	return update_ops_of(event->api)->end(process, event, NULL);
}

static int handle_free(struct model *model, struct process *process, const struct event *event)
{
	if (!(api_row(event->api)->flags & COOKIE_FLAG_FREE)) {
		model->dropped++;
		return 0;
	}
	return update_release(process, event);
}

static int abandon(struct process *process, const struct pending *pending)
{
	process->found.missed_returns++;
	return update_ops_of((enum api)pending->api)->undo(process, pending);
}

/*
 * Pops the thread's pending call of the event's api. Calls that interrupted it and are still
 * pending never returned (longjmp).
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
	const struct update_ops *ops = update_ops_of(event->api);
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
	err = ops->begin(process, event, &pending);
	if (err)
		return err;
	err = pendings_push(&process->pendings, &pending);
	if (err)
		(void)ops->undo(process, &pending);
	return err;
}

static int handle_end(struct model *model, struct process *process, const struct event *event)
{
	const struct update_ops *ops = update_ops_of(event->api);
	struct pending pending;
	int err, end_err;

	if (!pendings_has(&process->pendings, event->tid, (uint8_t)event->api)) {
		if (api_allocates(event->api))
			return ops->end(process, event, NULL);
		/* If the begin of a munmap was dropped or abandoned, that loss was already
		 * counted. */
		model->dropped += !(api_row(event->api)->flags & COOKIE_FLAG_BEGIN);
		return 0;
	}
	err = take_pending(process, event, &pending);
	end_err = ops->end(process, event, &pending);
	return err ? err : end_err;
}

static int (*const handlers[EVENT_KIND_COUNT])(struct model *, struct process *,
					       const struct event *) = {
	[EVENT_PROCESS] = handle_process,
	[EVENT_FORK] = handle_fork,
	[EVENT_EXEC] = handle_exec,
	[EVENT_EXIT] = handle_exit,
	[EVENT_LEAVE] = handle_leave,
	[EVENT_LOSSES] = handle_losses,
	[EVENT_MAPPING] = handle_mapping,
	[EVENT_WRAPPER] = handle_wrapper,
	[EVENT_STACK] = handle_stack,
	[EVENT_ALLOC] = handle_alloc,
	[EVENT_FREE] = handle_free,
	[EVENT_BEGIN] = handle_begin,
	[EVENT_END] = handle_end,
	[EVENT_THREAD_EXITS] = handle_thread_exits,
	[EVENT_THREAD_GONE] = handle_thread_gone,
};

static bool names_a_call(enum event_kind kind)
{
	return kind >= EVENT_ALLOC;
}

static bool opens_process(enum event_kind kind)
{
	return kind == EVENT_PROCESS || kind == EVENT_FORK;
}

void model_unprobe(struct model *model)
{
	model->config.unprobing = true;
}

int model_pause(struct model *model, uint32_t pid, bool paused)
{
	struct process *process = model_process(model, pid);

	if (!process)
		return -ESRCH;
	process->paused = paused;
	return 0;
}

void model_pause_all(struct model *model, bool paused)
{
	struct process *const *process;

	model->paused = paused;
	vec_each (process, &model->processes)
		if (*process && !(*process)->closed)
			(*process)->paused = paused;
}

int model_reset(struct model *model, uint32_t pid, uint64_t now_ns)
{
	struct process *process = model_process(model, pid);

	return process ? process_reset(process, now_ns) : -ESRCH;
}

int model_event(struct model *model, const struct event *event)
{
	struct process *process = model_process(model, event->pid);
	bool known = process || opens_process(event->kind);

	if ((unsigned int)event->kind >= EVENT_KIND_COUNT || !known ||
	    (names_a_call(event->kind) &&
	     (event->api == API_NONE || (unsigned int)event->api >= API_COUNT))) {
		model->dropped++;
		return 0;
	}
	if (!names_a_call(event->kind))
		return handlers[event->kind](model, process, event);
	process_advance(process, event->time_ns);
	limit_memory(model, event->time_ns);
	return handlers[event->kind](model, process, event);
}

static int capture_processes(const struct model *model, uint64_t now_ns, struct snapshot *snapshot)
{
	size_t count = model->processes.count - model->holes;
	struct process *const *process;
	struct snapshot_process *section;

	snapshot->processes = snapshot_alloc(snapshot, count * sizeof(*snapshot->processes));
	if (!snapshot->processes)
		return -ENOMEM;
	vec_each (process, &model->processes) {
		if (!*process)
			continue;
		section = &snapshot->processes[snapshot->process_count++];
		if (capture_process(snapshot, *process, now_ns, section))
			return -ENOMEM;
	}
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
	snapshot->tool.model_bytes = model_bytes(model);
	snapshot->tool.without_series = model->series.refused;
	snapshot->tool.limit = model->limit;
	snapshot->others = model->others;
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

void model_set_limit(struct model *model, uint64_t bytes)
{
	model->config.max_bytes = bytes;
}

uint64_t model_limit_mean(const struct model *model)
{
	return model->limit.mean;
}

size_t model_memory(const struct model *model)
{
	struct process *const *process;
	size_t bytes = 0;

	vec_each (process, &model->processes)
		bytes += *process ? (*process)->heap.bytes : 0;
	return bytes;
}

static size_t array_bytes(const struct cow_array *array, size_t item_size)
{
	return (array->count + COW_PIECE_ITEMS - 1) / COW_PIECE_ITEMS * COW_PIECE_ITEMS * item_size;
}

size_t model_bytes(const struct model *model)
{
	size_t bytes = model_memory(model) + model->series.used * sizeof(struct series);
	struct process *const *process;

	vec_each (process, &model->processes)
		if (*process)
			bytes += array_bytes(&(*process)->sites, sizeof(struct site)) +
				 array_bytes(&(*process)->stacks.items, sizeof(struct stack)) +
				 frame_store_bytes((*process)->stacks.frames);
	return bytes;
}
