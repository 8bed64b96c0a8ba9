/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace_orphans.h"

#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "os/proc.h"
#include "source/ptrace_births.h"

#define PARENT_WAIT_NS 2000000000ULL /* for a parent that lives to tell of its child */

void orphans_bury(struct tracer *tracer, const struct owner *owner)
{
	struct owner *grave = &tracer->graves[tracer->buried++ % GRAVES];
	struct space *memory = owner->memory;

	if (!memory || memory->users > 1) {
		space_unref(memory); /* others have it, who will do */
		return;
	}
	space_unref(grave->memory);
	*grave = *owner;
	close(memory->fd); /* what is in it nobody needs to know any more */
	memory->fd = -1;
}

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

static void orphan_adopt(struct tracer *tracer, struct task *task, struct space *memory)
{
	struct task parent = {.owner = find_former(tracer, memory, 0, 0)};

	if (!parent.owner) {
		task_let_go(tracer, task, 0); /* it has no breakpoint */
		return;
	}
	parent.tid = parent.owner->pid;
	orphan_born(tracer, &parent, task->tid);
}

/* Is it of the image that the parent had before? */
static bool is_of_former_image(struct tracer *tracer, struct space *memory,
			       const struct owner *parent)
{
	return find_former(tracer, memory, parent->pid,
			   breakpoints_shared(memory, parent->memory)) != NULL;
}

/* A thread's fate is that of its process. */
static bool is_orphan(struct tracer *tracer, const struct task *task, struct space *memory)
{
	const struct owner *parent;
	struct proc_info info;
	bool is;

	if (proc_info_read(task->tid, &info))
		return false;
	parent = owner_find(tracer, info.ppid);
	is = info.tgid == info.pid && (!parent || is_of_former_image(tracer, memory, parent) ||
				       clock_now_ns() - task->early_ns > PARENT_WAIT_NS);
	proc_info_free(&info);
	return is;
}

static void look_at(struct tracer *tracer, struct task *task)
{
	struct space *memory;

	if (space_open(&memory, task->tid))
		return;
	if (is_orphan(tracer, task, memory))
		orphan_adopt(tracer, task, memory);
	space_unref(memory);
}

bool orphans_look(struct tracer *tracer)
{
	bool any = false;

	for (size_t i = tracer->early ? tracer->tasks.count : 0; i--;) {
		struct task *task = tracer->tasks.items[i];

		if (task->state != TASK_EARLY)
			continue;
		any = true;
		look_at(tracer, task);
	}
	tracer->early = any;
	return any;
}
