/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/tracer_process/exit_hold.h"

#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "arch/registers.h"
#include "os/ptrace/tracee.h"
#include "source/ptrace/breakpoint/registers.h"
#include "source/ptrace/tracer_process/table.h"
#include "source/ptrace/tracer/mailbox.h"
#include "source/ptrace/tracer/records.h"

/* For threads of both word sizes. */
static bool is_call(const struct owner *owner, long call, bool ends_thread, bool ends_process)
{
	const struct registers_layout *layout = registers_layout_of_word(owner->is_32bit ? 4 : 8);

	if (!layout || call < 0)
		return false;
	if (ends_thread || ends_process)
		return call == (ends_thread ? layout->exit : layout->exit_group);
	return call == layout->execve || call == layout->execveat;
}

static bool all_at_exit(const struct tracer *tracer, const struct owner *owner)
{
	struct task *const *task;

	vec_each (task, &tracer->tasks)
		if ((*task)->owner == owner && (*task)->state != TASK_EXITING &&
		    (*task)->state != TASK_LEFT)
			return false;
	return true;
}

static void leave(struct task *task)
{
	task_continue(task, 0);
	task->state = TASK_LEFT;
}

static void let_exit(const struct tracer *tracer, const struct owner *owner)
{
	struct task *const *task;

	vec_each (task, &tracer->tasks)
		if ((*task)->owner == owner && (*task)->state == TASK_EXITING)
			leave(*task);
}

static void write_end(struct tracer *tracer, struct owner *owner)
{
	struct record_head record = {.kind = RECORD_AT_END, .length = sizeof(record)};

	if (owner->end_reported)
		return;
	owner->end_reported = true;
	record.tid = (uint32_t)owner->pid;
	if (!tracer_write_record(tracer, owner, &record))
		exit_hold_release(tracer, owner);
	tracer_ring(tracer);
}

static long call_of(const struct task *task)
{
	struct arch_registers registers;

	return task_registers_get(task->tid, &registers) ? -1
							 : (long)arch_get(&registers, ARCH_CALL);
}

void exit_hold_thread(struct tracer *tracer, struct task *task)
{
	struct owner *owner = task->owner;
	unsigned long status = 0;
	bool alone, killed;
	long call;

	ptrace(PTRACE_GETEVENTMSG, task->tid, NULL, &status);
	killed = WIFSIGNALED((int)status);
	if (!owner->watched || (killed && WTERMSIG((int)status) == SIGKILL)) {
		leave(task);
		return;
	}
	task->state = TASK_EXITING;
	call = call_of(task);
	alone = all_at_exit(tracer, owner);
	if (killed || alone || is_call(owner, call, false, true))
		owner->ending = true;
	if (owner->ending && alone)
		write_end(tracer, owner);
	else if (!owner->ending && is_call(owner, call, true, false))
		leave(task);
	else
		tracer->undecided = true;
}

void exit_hold_thread_gone(struct tracer *tracer, struct owner *owner)
{
	if (!owner_has(tracer, owner, TASK_EXITING) || !all_at_exit(tracer, owner))
		return;
	owner->ending = true;
	write_end(tracer, owner);
}

/* Returns true if another thread is in exec and waits for these to exit. */
static bool is_executing(const struct tracer *tracer, const struct owner *owner)
{
	struct task *const *task;

	vec_each (task, &tracer->tasks)
		if ((*task)->owner == owner && (*task)->state == TASK_RUNS &&
		    is_call(owner, tracee_call(owner->pid, (*task)->tid), false, false))
			return true;
	return false;
}

bool exit_hold_recheck(struct tracer *tracer)
{
	bool any = false;

	for (size_t i = 0; i < tracer->tasks.count; i++) {
		const struct task *task = tracer->tasks.items[i];

		if (task->state != TASK_EXITING || task->owner->ending)
			continue;
		if (is_executing(tracer, task->owner))
			let_exit(tracer, task->owner);
		else
			any = true;
	}
	tracer->undecided = any;
	return any;
}

void exit_hold_watch(struct owner *owner, enum hold_from from)
{
	owner->watched = from == HOLD_NOW;
	owner->watched_from_exec = from == HOLD_EXEC;
}

void exit_hold_release(struct tracer *tracer, struct owner *owner)
{
	owner->watched = owner->watched_from_exec = false;
	let_exit(tracer, owner);
}

static bool put_registers(const struct tracer *tracer, const struct task *task, size_t *used)
{
	struct thread_registers registers = {.tid = task->tid};
	struct shared_registers head;
	bool fits;

	tracee_read_registers(&registers);
	head = (struct shared_registers){
		.tid = task->tid,
		.word = registers.word,
		.red_zone = registers.red_zone,
		.chunk = registers.chunk,
		.size = (uint32_t)registers.size,
		.stack = registers.stack,
		.thread = registers.thread,
	};
	fits = *used + sizeof(head) + registers.size <= SHARED_REGISTERS;
	if (fits) {
		memcpy(tracer->shared->registers + *used, &head, sizeof(head));
		if (registers.size)
			memcpy(tracer->shared->registers + *used + sizeof(head), registers.bytes,
			       registers.size);
		*used += sizeof(head) + registers.size;
	}
	tracee_free_registers(&registers);
	return fits;
}

/* An empty entry stands for threads whose registers could not be read. */
static bool put_unknown(const struct tracer *tracer, size_t used)
{
	const struct shared_registers none = {0};

	if (used + sizeof(none) > SHARED_REGISTERS)
		return false;
	memcpy(tracer->shared->registers + used, &none, sizeof(none));
	return true;
}

uint32_t registers_write(const struct tracer *tracer, const struct owner *owner)
{
	struct task *const *task;
	bool all = !owner->unseen;
	uint32_t count = 0;
	size_t used = 0;

	vec_each (task, &tracer->tasks)
		if ((*task)->owner == owner && (*task)->state != TASK_RUNS &&
		    (*task)->state != TASK_LEFT) {
			bool fits = put_registers(tracer, *task, &used);

			count += fits;
			all = all && fits;
		}
	return all ? count : count + put_unknown(tracer, used);
}
