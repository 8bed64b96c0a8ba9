/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/tracer_process/orphans.h"

#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "source/ptrace/breakpoint/space.h"
#include "source/ptrace/tracer_process/forks.h"
#include "source/ptrace/tracer_process/table.h"
#include "source/ptrace/tracer_process/tasks.h"

#define PARENT_WAIT_NS 2000000000ULL /* for a living parent to report its child */

/* Counts the breakpoints of another memory that this one has. Sets its kind of code from the other
 * one. */
static uint32_t breakpoints_shared(struct space *memory, const struct space *other)
{
	const struct breakpoint *breakpoint;
	uint32_t shared = 0;

	memory->arch = other->arch;
	memory->is_32bit = other->is_32bit;
	vec_each (breakpoint, &other->breakpoints)
		shared += breakpoint->address && breakpoint_is_set(memory, breakpoint);
	return shared;
}

/*
 * Finds, among exited processes (of one pid, or 0: all), the one that shares the most breakpoints
 * with a memory. The parent had all of them. Another process that had them, too, such as another
 * child, will also do.
 */
static struct owner *find_former(struct tracer *tracer, struct space *memory, pid_t pid,
				 uint32_t more_than)
{
	struct owner *best = NULL;

	for (uint64_t i = 0; i < GRAVES && i < tracer->buried; i++) {
		struct owner *grave = &tracer->graves[(tracer->buried - 1 - i) % GRAVES];
		uint32_t shared;

		if (!grave->memory || (pid && grave->pid != pid))
			continue;
		shared = breakpoints_shared(memory, grave->memory);
		if (shared <= more_than)
			continue;
		more_than = shared;
		best = grave;
	}
	return best;
}

/* The same among living processes, after the parent has not reported the child for a long time. */
static struct owner *find_living(struct tracer *tracer, struct space *memory, uint32_t more_than)
{
	struct owner *const *owner, *best = NULL;

	vec_each (owner, &tracer->owners) {
		uint32_t shared =
			(*owner)->memory ? breakpoints_shared(memory, (*owner)->memory) : 0;

		if (shared <= more_than)
			continue;
		more_than = shared;
		best = *owner;
	}
	return best;
}

static bool shares_memory(pid_t one, pid_t other)
{
	return !syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0);
}

/* A process with breakpoints must not be detached: it would die of them. */
static void orphan_adopt(struct tracer *tracer, struct task *task, struct space *memory)
{
	struct task parent = {.owner = find_former(tracer, memory, 0, 0)};
	uint32_t shared = parent.owner ? breakpoints_shared(memory, parent.owner->memory) : 0;
	struct owner *living = find_living(tracer, memory, shared);

	parent.owner = living ? living : parent.owner;
	if (!parent.owner) {
		task_let_go(tracer, task, 0); /* it has no breakpoint */
		return;
	}
	parent.tid = parent.owner->pid;
	if (living && shares_memory(parent.tid, task->tid))
		child_created(tracer, &parent, task->tid, true);
	else
		orphan_created(tracer, &parent, task->tid);
}

/* Returns true if the memory belongs to the parent's previous image. */
static bool is_of_former_image(struct tracer *tracer, struct space *memory,
			       const struct owner *parent)
{
	return find_former(tracer, memory, parent->pid,
			   breakpoints_shared(memory, parent->memory)) != NULL;
}

/*
 * If new threads cause many stops, waitpid reports old ones last. So ask for this process's threads
 * by tid.
 */
static void hear(struct tracer *tracer, const struct owner *owner)
{
	VEC(pid_t) tids = {0};
	struct task *const *task;
	const pid_t *tid;
	int status;

	vec_each (task, &tracer->tasks)
		if ((*task)->owner == owner && vec_push(&tids, (*task)->tid))
			break;
	vec_each (tid, &tids)
		if (waitpid(*tid, &status, __WALL | WNOHANG) > 0)
			task_changed(tracer, *tid, status);
	vec_free(&tids);
}

/* Only processes are orphans: threads belong to theirs. */
static bool is_orphan(struct tracer *tracer, pid_t tid, uint64_t unannounced_ns,
		      struct space *memory)
{
	const struct owner *parent;
	struct proc_info info;
	struct task *task;
	bool is = false;

	if (proc_info_read(tid, &info))
		return false;
	parent = owner_find(tracer, info.ppid);
	if (info.tgid != info.pid)
		is = false;
	else if (!parent || is_of_former_image(tracer, memory, parent))
		is = true;
	else if (clock_now_ns() - unannounced_ns > PARENT_WAIT_NS) {
		hear(tracer, parent);
		task = task_find(tracer, tid);
		is = task && task->state == TASK_UNANNOUNCED;
	}
	proc_info_free(&info);
	return is;
}

static void check_orphan(struct tracer *tracer, pid_t tid, uint64_t unannounced_ns)
{
	struct space *memory;

	if (space_open(&memory, tid))
		return;
	if (is_orphan(tracer, tid, unannounced_ns, memory))
		orphan_adopt(tracer, task_find(tracer, tid), memory);
	space_unref(memory);
}

bool orphans_check(struct tracer *tracer)
{
	bool any = false;

	for (size_t i = tracer->has_unannounced ? tracer->tasks.count : 0; i--;) {
		const struct task *task = i < tracer->tasks.count ? tracer->tasks.items[i] : NULL;

		if (!task || task->state != TASK_UNANNOUNCED)
			continue;
		any = true;
		check_orphan(tracer, task->tid,
			     task->unannounced_ns); /* may add and remove other tasks */
	}
	tracer->has_unannounced = any;
	return any;
}
