/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/tracer_process/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "source/ptrace/breakpoint/calls.h"
#include "source/ptrace/breakpoint/space.h"
#include "source/ptrace/breakpoint/foreign_uprobes.h"
#include "source/ptrace/tracer/records.h"

struct task *task_find(const struct tracer *tracer, pid_t tid)
{
	uint32_t index = map64_get(&tracer->index, (uint64_t)tid);

	return index == MAP64_NONE ? NULL : tracer->tasks.items[index];
}

struct owner *owner_find(const struct tracer *tracer, pid_t pid)
{
	struct owner *const *owner;

	vec_each (owner, &tracer->owners)
		if ((*owner)->pid == pid)
			return *owner;
	return NULL;
}

bool owner_has(const struct tracer *tracer, const struct owner *owner, enum task_state state)
{
	struct task *const *task;

	vec_each (task, &tracer->tasks)
		if ((*task)->owner == owner && (*task)->state == state)
			return true;
	return false;
}

int owner_new(struct tracer *tracer, pid_t pid, struct space *memory, struct owner **ret_owner)
{
	struct owner *owner = calloc(1, sizeof(*owner));

	if (!owner || vec_push(&tracer->owners, owner)) {
		free(owner);
		return -ENOMEM;
	}
	owner->pid = pid;
	owner->memory = memory;
	owner->seed = ++tracer->images;
	*ret_owner = owner;
	return 0;
}

void owner_bury(struct tracer *tracer, const struct owner *owner)
{
	struct owner *grave = &tracer->graves[tracer->buried++ % GRAVES];
	struct space *memory = owner->memory;

	if (!memory || memory->users > 1) {
		space_unref(memory); /* other processes share it */
		return;
	}
	space_unref(grave->memory);
	*grave = *owner;
	close(memory->fd); /* its contents are no longer needed */
	memory->fd = -1;
}

void owner_remove(struct tracer *tracer, struct owner *owner)
{
	for (size_t i = 0; i < tracer->owners.count; i++)
		if (tracer->owners.items[i] == owner)
			tracer->owners.items[i] = tracer->owners.items[--tracer->owners.count];
	owner_bury(tracer, owner);
	if (tracer->stopping == owner)
		tracer->stopping_gone = true;
	free(owner);
}

int task_new(struct tracer *tracer, pid_t tid, struct owner *owner,
	     const struct task_calls *inherited, struct task **ret_task)
{
	struct task *task = calloc(1, sizeof(*task));

	if (task)
		task->calls = task_calls_new(inherited);
	if (!task || !task->calls || vec_push(&tracer->tasks, task) ||
	    map64_set(&tracer->index, (uint64_t)tid, (uint32_t)tracer->tasks.count - 1)) {
		if (task)
			free(task->calls);
		free(task);
		return -ENOMEM;
	}
	task->tid = tid;
	task->owner = owner;
	if (owner)
		owner->tasks++;
	*ret_task = task;
	return 0;
}

void task_remove(struct tracer *tracer, struct task *task)
{
	uint32_t index = map64_get(&tracer->index, (uint64_t)task->tid);
	struct task *last = tracer->tasks.items[--tracer->tasks.count];

	map64_delete(&tracer->index, (uint64_t)task->tid);
	if (last != task) {
		tracer->tasks.items[index] = last;
		(void)map64_set(&tracer->index, (uint64_t)last->tid, index); /* cannot fail */
	}
	if (task->owner)
		task->owner->tasks--;
	free(task->calls);
	free(task);
}

void task_continue(struct task *task, int signal)
{
	task->state = TASK_RUNS;
	ptrace(PTRACE_CONT, task->tid, NULL, (void *)(intptr_t)signal);
}

/* The thread is stopped, and no longer to be traced. */
void task_let_go(struct tracer *tracer, struct task *task, int signal)
{
	struct owner *owner = task->owner;

	ptrace(PTRACE_DETACH, task->tid, NULL, (void *)(intptr_t)signal);
	task_remove(tracer, task);
	if (owner && !owner->tasks)
		owner_remove(tracer, owner);
}

void task_hold(struct tracer *tracer, struct task *task)
{
	struct record_head record = {.kind = RECORD_HELD, .length = sizeof(record)};

	record.tid = (uint32_t)task->tid;
	task->state = TASK_HELD;
	if (!tracer_write_record(tracer, task->owner, &record))
		task_continue(task, 0); /* rather than hold it forever */
	tracer_ring(tracer);
}

void owner_gone(struct tracer *tracer, struct owner *owner, enum record_kind kind, int status)
{
	struct record_exit record = {.head = {.kind = kind, .length = sizeof(record)}};

	if (owner->bystander)
		return;
	record.head.tid = (uint32_t)owner->pid;
	record.head.time_ns = clock_now_ns();
	record.code = (uint32_t)status;
	memcpy(record.losses, owner->losses, sizeof(record.losses));
	record.losses[LOSS_GAP_NS] += foreign_uprobes_gap_ns(owner);
	tracer_write_record(tracer, owner, &record.head);
	tracer_ring(tracer);
}
