/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who can stop a process, and hold it at its end: its tracer, of which it can have one only. That
 * is a watch of its own (exit_watch.h), or whoever traces the process anyway.
 */
#ifndef MTRACE_OS_PTRACE_HOLDER_H
#define MTRACE_OS_PTRACE_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "os/ptrace/tracee.h"

struct holder;

struct holder_ops {
	/* As freeze_stop. */
	int (*stop)(struct holder *holder, struct error *err);
	/* Of a process that is stopped or held. Valid until the next stop. */
	const struct thread_registers *(*threads)(const struct holder *holder, size_t *ret_count);
	/* What was stopped goes on. */
	void (*go_on)(struct holder *holder);
	/* Is it held at its end, with all threads stopped? */
	bool (*at_end)(const struct holder *holder);
	/* Is nothing to be expected of it any more: has it ended without being held, or after? */
	bool (*is_over)(const struct holder *holder);
	/* Of a child that was born since and not asked for yet; NULL if there is none. To be closed
	 * like the first. */
	struct holder *(*child)(struct holder *holder, pid_t *ret_pid);
	/* Let go, and free. */
	void (*close)(struct holder *holder);
};

struct holder {
	const struct holder_ops *ops;
};

enum hold_from {
	HOLD_NEVER, /* it is only stopped */
	HOLD_NOW,
	HOLD_EXEC, /* from the next one on: until then it is no concern of ours how it ends */
};

struct hold_request {
	pid_t pid;
	enum hold_from from;
	bool family; /* its children from their birth, too, and theirs */
	int event;   /* eventfd of the caller's: raised when one of them is born, held, or over */
};

#endif
