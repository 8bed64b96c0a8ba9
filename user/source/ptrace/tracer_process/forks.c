/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child has the breakpoints of its parent. If it is not to be traced, they are removed before it
 * runs. If it shares its parent's memory (vfork), that is impossible: the child is a bystander, and
 * steps over them until it calls exec.
 */
#include "source/ptrace/tracer_process/forks.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "arch/registers.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"
#include "source/ptrace/breakpoint/calls.h"
#include "source/ptrace/breakpoint/registers.h"
#include "source/ptrace/breakpoint/space.h"
#include "source/ptrace/tracer_process/image.h"
#include "source/ptrace/tracer_process/table.h"
#include "source/ptrace/tracer/records.h"

static void read_link(pid_t pid, const char *name, char *text, size_t size)
{
	char path[PROCFS_PATH_SIZE];
	ssize_t length;

	procfs_path(path, pid, name);
	length = readlink(path, text, size - 1);
	text[length > 0 ? length : 0] = '\0';
}

static void read_comm(pid_t pid, char comm[COMM_SIZE])
{
	char *text;
	size_t size;

	if (procfs_read(pid, "comm", &text, &size))
		return;
	snprintf(comm, COMM_SIZE, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

/*
 * New threads and processes.
 */

/* Adds a thread with its owner to the tables. If it was already waiting there, it is resumed. */
static void adopt(struct tracer *tracer, pid_t tid, struct owner *owner,
		  const struct task_calls *inherited, bool leaves)
{
	struct task *task = task_find(tracer, tid);

	if (!task) {
		if (!task_new(tracer, tid, owner, inherited, &task))
			task->leaves = leaves;
		return;
	}
	task->owner = owner;
	owner->tasks++;
	if (inherited)
		task_calls_copy(task->calls, inherited);
	if (leaves)
		task_let_go(tracer, task, 0);
	else if (owner->frozen)
		task->state = TASK_FROZEN;
	else
		task_continue(task, 0);
}

/* The flags, as of clone(2), of the call that a parent is stopped in. */
static uint64_t fork_flags(const struct task *task)
{
	struct arch_registers registers;
	struct arch_forks forks;
	uint64_t call, first;
	char flags[sizeof(uint64_t)] = {0};

	if (task_registers_get(task->tid, &registers))
		return 0;
	forks = registers.arch->forks(&registers);
	call = arch_get(&registers, ARCH_CALL);
	first = arch_get(&registers, ARCH_CALL_FIRST);
	if (forks.vfork && call == forks.vfork)
		return CLONE_VM | CLONE_VFORK;
	if (call == forks.clone)
		return first;
	if (call == forks.clone3)
		(void)space_read(task->owner->memory, first, flags, sizeof(flags));
	return registers_word(flags, 0, sizeof(flags));
}

static void write_fork(struct tracer *tracer, const struct task *parent, struct owner *child,
		       bool shares)
{
	struct record_fork record = {
		.head = {.kind = RECORD_FORK,
			 .flags = shares ? RECORD_FLAG_SHARED : 0,
			 .tid = (uint32_t)parent->tid,
			 .length = sizeof(record),
			 .time_ns = clock_now_ns()},
		.parent = (uint32_t)parent->owner->pid,
	};
	struct proc_info info;

	if (!proc_info_read(child->pid, &info)) {
		record.start_time_ns = info.start_time_ns;
		proc_info_free(&info);
	}
	read_comm(child->pid, record.comm);
	tracer_write_record(tracer, child, &record.head);
	tracer_ring(tracer);
}

/* Handles a child that is not to be traced. */
static void leave_child(struct tracer *tracer, pid_t pid, struct space *memory, bool shares)
{
	struct owner *owner;

	if (!shares)
		breakpoints_remove(memory);
	if (owner_new(tracer, pid, memory, &owner)) {
		space_unref(memory);
		return;
	}
	owner->bystander = true;
	adopt(tracer, pid, owner, NULL, !shares || tracer->detaches);
}

static void follow_child(struct tracer *tracer, const struct task *parent, pid_t pid,
			 struct space *memory, bool shares)
{
	struct owner *owner;

	if (owner_new(tracer, pid, memory, &owner)) {
		space_unref(memory);
		return;
	}
	owner->start_stack = parent->owner->start_stack;
	owner->is_32bit = parent->owner->is_32bit;
	owner->watched = parent->owner->watched;
	owner->watched_from_exec = parent->owner->watched_from_exec;
	write_fork(tracer, parent, owner, shares);
	adopt(tracer, pid, owner, parent->calls, false);
}

static void process_created(struct tracer *tracer, const struct task *parent, pid_t child,
			    struct space *memory)
{
	bool shares = memory == parent->owner->memory;

	if (tracer->config.follows && !parent->owner->bystander && !tracer->detaches)
		follow_child(tracer, parent, child, memory, shares);
	else
		leave_child(tracer, child, memory, shares);
}

void orphan_created(struct tracer *tracer, const struct task *parent, pid_t child)
{
	struct space *memory;

	if (space_fork(&memory, parent->owner->memory, child))
		return; /* it was killed */
	breakpoints_forget_unmapped(memory);
	process_created(tracer, parent, child, memory);
}

void child_created(struct tracer *tracer, const struct task *parent, pid_t child, bool shares)
{
	struct space *memory = parent->owner->memory;

	if (shares)
		memory->users++;
	else if (space_fork(&memory, memory, child))
		return; /* it was killed */
	process_created(tracer, parent, child, memory);
}

static void child_reported(struct tracer *tracer, struct task *task)
{
	uint64_t flags = fork_flags(task);
	unsigned long number;
	const struct task *known;

	if (ptrace(PTRACE_GETEVENTMSG, task->tid, NULL, &number))
		return;
	known = task_find(tracer, (pid_t)number);
	if (known && known->owner)
		return; /* already handled as an orphan */
	if (flags & CLONE_THREAD)
		adopt(tracer, (pid_t)number, task->owner, NULL, tracer->detaches);
	else
		child_created(tracer, task, (pid_t)number, flags & CLONE_VM);
}

/*
 * A new image.
 */

static void forget_others(struct tracer *tracer, const struct task *task)
{
	for (size_t i = tracer->tasks.count; i--;) {
		struct task *other = tracer->tasks.items[i];

		if (other->owner == task->owner && other != task)
			task_remove(tracer, other);
	}
}

static void write_exec(struct tracer *tracer, const struct task *task)
{
	struct record_exec record = {.head = {.kind = RECORD_EXEC,
					      .tid = (uint32_t)task->tid,
					      .length = sizeof(record),
					      .time_ns = clock_now_ns()}};

	if (task->owner->is_32bit)
		record.head.flags = RECORD_FLAG_32BIT;
	read_comm(task->owner->pid, record.comm);
	read_link(task->owner->pid, "exe", record.path, sizeof(record.path));
	tracer_write_record(tracer, task->owner, &record.head);
}

/* The other threads are gone, and the calling thread now has the leader's tid. */
static void executed(struct tracer *tracer, struct task *task)
{
	struct owner *owner = task->owner;
	struct space *memory;

	forget_others(tracer, task);
	if (owner->bystander || space_open(&memory, task->tid)) {
		owner_gone(tracer, owner, RECORD_LEAVE, 0);
		task_let_go(tracer, task, 0);
		return;
	}
	owner_bury(tracer, owner);
	owner->memory = memory;
	owner->seed = ++tracer->images;
	task_calls_reset(task->calls);
	owner_read_image(owner);
	owner->watched |= owner->watched_from_exec;
	write_exec(tracer, task);
	task_hold(tracer, task);
}

bool task_has_child(int event)
{
	return event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
	       event == PTRACE_EVENT_VFORK;
}

void task_event(struct tracer *tracer, struct task *task, int event)
{
	if (event == PTRACE_EVENT_EXEC && !tracer->detaches) {
		executed(tracer, task);
		return;
	}
	if (task_has_child(event))
		child_reported(tracer, task);
	if (tracer->detaches || task->leaves)
		task_let_go(tracer, task, 0);
	else
		task_continue(task, 0);
}
