/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/guardian/orphans.h"

#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "source/ptrace/breakpoint/space.h"
#include "source/ptrace/guardian/births.h"
#include "source/ptrace/guardian/table.h"
#include "source/ptrace/guardian/tasks.h"

#define PARENT_WAIT_NS 2000000000ULL /* for a parent that lives to tell of its child */

/* How many breakpoints of another memory does this one have? What code it has is the other's. */
static uint32_t breakpoints_shared(struct space *memory, const struct space *other)
{
	const struct breakpoint *breakpoint;
	uint32_t shared = 0;

	memory->arch = other->arch;
	memory->narrow = other->narrow;
	vec_each (breakpoint, &other->breakpoints)
		shared += breakpoint->address && breakpoint_stands(memory, breakpoint);
	return shared;
}

/*
 * Whose breakpoints a memory has most of, of those who have ended; of one pid, or 0 for all. The
 * parent had all of them. If somebody else had them, too, as its other children may, that will do.
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

/* The same of those who live: who has told of no birth yet, though it is long ago. */
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

/* Who has a breakpoint must not be let go: it would die of it. */
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
		child_born(tracer, &parent, task->tid, true);
	else
		orphan_born(tracer, &parent, task->tid);
}

/* Is it of the image that the parent had before? */
static bool is_of_former_image(struct tracer *tracer, struct space *memory,
			       const struct owner *parent)
{
	return find_former(tracer, memory, parent->pid,
			   breakpoints_shared(memory, parent->memory)) != NULL;
}

/*
 * Where there is much to do for young threads, the kernel tells of old ones last: what waits there
 * is asked for by name.
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

/* A thread's fate is that of its process. */
static bool is_orphan(struct tracer *tracer, pid_t tid, uint64_t early_ns, struct space *memory)
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
	else if (clock_now_ns() - early_ns > PARENT_WAIT_NS) {
		hear(tracer, parent);
		task = task_find(tracer, tid);
		is = task && task->state == TASK_EARLY;
	}
	proc_info_free(&info);
	return is;
}

static void look_at(struct tracer *tracer, pid_t tid, uint64_t early_ns)
{
	struct space *memory;

	if (space_open(&memory, tid))
		return;
	if (is_orphan(tracer, tid, early_ns, memory))
		orphan_adopt(tracer, task_find(tracer, tid), memory);
	space_unref(memory);
}

bool orphans_look(struct tracer *tracer)
{
	bool any = false;

	for (size_t i = tracer->early ? tracer->tasks.count : 0; i--;) {
		const struct task *task = i < tracer->tasks.count ? tracer->tasks.items[i] : NULL;

		if (!task || task->state != TASK_EARLY)
			continue;
		any = true;
		look_at(tracer, task->tid, task->early_ns); /* others may come and go */
	}
	tracer->early = any;
	return any;
}
