/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/hold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A held process. */
struct ptrace_hold {
	struct holder holder; /* first */
	struct holds *holds;
	struct tracer_process *tracer_process;
	pid_t pid;
	int event; /* the caller's eventfd */
	bool at_end;
	bool over;
	bool unasked;                         /* a child that has not been reported to the caller */
	VEC(struct thread_registers) threads; /* their bytes are in the shared memory */
};

static int take_registers(struct ptrace_hold *hold)
{
	const struct shared *shared = &hold->tracer_process->shared;
	uint32_t count = shared->mailbox->count;
	size_t at = 0;

	hold->threads.count = 0;
	if (vec_reserve(&hold->threads, count))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct shared_registers head;

		memcpy(&head, shared->registers + at, sizeof(head));
		hold->threads.items[hold->threads.count++] = (struct thread_registers){
			.tid = head.tid,
			.word = head.word,
			.red_zone = head.red_zone,
			.chunk = head.chunk,
			.stack = head.stack,
			.thread = head.thread,
			.bytes = shared->registers + at + sizeof(head),
			.size = head.size,
		};
		at += sizeof(head) + head.size;
	}
	return 0;
}

static int hold_stop(struct holder *holder, struct error *err)
{
	struct ptrace_hold *hold = (struct ptrace_hold *)holder;
	int code = tracer_process_ask(hold->tracer_process, REQUEST_STOP, hold->pid);

	if (!code)
		code = take_registers(hold);
	if (code == -ETIMEDOUT)
		return error_set(err, code, "cannot stop %d: a thread is in uninterruptible sleep",
				 (int)hold->pid);
	return code ? error_set_errno(err, code, "cannot stop %d", (int)hold->pid) : 0;
}

static const struct thread_registers *hold_threads(const struct holder *holder, size_t *ret_count)
{
	const struct ptrace_hold *hold = (const struct ptrace_hold *)holder;

	*ret_count = hold->threads.count;
	return hold->threads.items;
}

static void hold_go_on(struct holder *holder)
{
	const struct ptrace_hold *hold = (const struct ptrace_hold *)holder;

	tracer_process_ask(hold->tracer_process, REQUEST_RELEASE, hold->pid);
}

static bool hold_at_end(const struct holder *holder)
{
	return ((const struct ptrace_hold *)holder)->at_end;
}

static bool hold_is_over(const struct holder *holder)
{
	return ((const struct ptrace_hold *)holder)->over;
}

/* Returns an unreported child of any process in the family. */
static struct holder *hold_child(struct holder *holder, pid_t *ret_pid)
{
	struct ptrace_hold *const *hold;

	vec_each (hold, &((struct ptrace_hold *)holder)->holds->list) {
		if (!(*hold)->unasked)
			continue;
		(*hold)->unasked = false;
		*ret_pid = (*hold)->pid;
		return &(*hold)->holder;
	}
	return NULL;
}

static void hold_close(struct holder *holder)
{
	struct ptrace_hold *hold = (struct ptrace_hold *)holder;

	for (size_t i = 0; i < hold->holds->list.count; i++)
		if (hold->holds->list.items[i] == hold)
			hold->holds->list.items[i] =
				hold->holds->list.items[--hold->holds->list.count];
	if (!hold->over) /* otherwise its pid may have been reused */
		tracer_process_ask(hold->tracer_process, REQUEST_LET_END, hold->pid);
	vec_free(&hold->threads);
	free(hold);
}

static const struct holder_ops hold_ops = {
	.stop = hold_stop,
	.threads = hold_threads,
	.go_on = hold_go_on,
	.at_end = hold_at_end,
	.is_over = hold_is_over,
	.child = hold_child,
	.close = hold_close,
};

static struct ptrace_hold *hold_make(struct holds *holds, struct tracer_process *tracer_process,
				     pid_t pid, int event)
{
	struct ptrace_hold *hold = calloc(1, sizeof(*hold));

	if (!hold || vec_push(&holds->list, hold)) {
		free(hold);
		return NULL;
	}
	*hold = (struct ptrace_hold){.holder.ops = &hold_ops,
				     .holds = holds,
				     .tracer_process = tracer_process,
				     .pid = pid,
				     .event = event};
	return hold;
}

int hold_new(struct holds *holds, struct tracer_process *tracer_process,
	     const struct hold_request *request, struct holder **ret_holder, struct error *err)
{
	struct ptrace_hold *hold = hold_make(holds, tracer_process, request->pid, request->event);
	int code;

	if (!hold)
		return error_set_errno(err, -ENOMEM, "cannot watch %d", (int)request->pid);
	tracer_process->shared.mailbox->count = request->from;
	code = tracer_process_ask(tracer_process, REQUEST_WATCH, request->pid);
	if (code) {
		hold_close(&hold->holder);
		return error_set_errno(err, code, "cannot watch %d", (int)request->pid);
	}
	*ret_holder = &hold->holder;
	return 0;
}

/* The holder of a process that has not exited. */
static struct ptrace_hold *hold_of(const struct holds *holds, pid_t pid)
{
	struct ptrace_hold *const *hold;

	vec_each (hold, &holds->list)
		if ((*hold)->pid == pid && !(*hold)->over)
			return *hold;
	return NULL;
}

static bool hold_raise(const struct ptrace_hold *hold)
{
	const uint64_t one = 1;

	return write(hold->event, &one, sizeof(one)) == sizeof(one);
}

void holds_child_created(struct holds *holds, pid_t parent, pid_t child)
{
	const struct ptrace_hold *of_parent = hold_of(holds, parent);
	struct ptrace_hold *hold;

	if (!of_parent)
		return;
	hold = hold_make(holds, of_parent->tracer_process, child, of_parent->event);
	if (!hold)
		return; /* nobody waits for it: it will be released at its exit */
	hold->unasked = true;
	hold_raise(hold);
}

bool holds_at_end(const struct holds *holds, pid_t pid)
{
	struct ptrace_hold *hold = hold_of(holds, pid);

	if (!hold)
		return false;
	hold->at_end = true;
	return hold_raise(hold);
}

void holds_over(const struct holds *holds, pid_t pid)
{
	struct ptrace_hold *hold = hold_of(holds, pid);

	if (!hold)
		return;
	hold->over = true;
	hold_raise(hold);
}

/* The remaining ones were never requested by the caller. */
void holds_free(struct holds *holds)
{
	while (holds->list.count)
		hold_close(&holds->list.items[holds->list.count - 1]->holder);
	vec_free(&holds->list);
}
