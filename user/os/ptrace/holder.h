/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer of a process, which can stop it and hold it at its exit. A process can have only one
 * tracer: that is a watch (exit_watch.h), or the code that traces the process anyway.
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
	/* Like freeze_stop. */
	int (*stop)(struct holder *holder, struct error *err);
	/* The registers of a process that is stopped or held. Valid until the next stop. */
	const struct thread_registers *(*threads)(const struct holder *holder, size_t *ret_count);
	/* Continues a stopped process. */
	void (*go_on)(struct holder *holder);
	/* Returns true if the process is held at its exit, with all threads stopped. */
	bool (*at_end)(const struct holder *holder);
	/* Returns true if the process has exited, whether or not it was held. */
	bool (*is_over)(const struct holder *holder);
	/* Returns the holder of a child that started since and was not returned yet, or NULL. Close
	 * it like the first one. */
	struct holder *(*child)(struct holder *holder, pid_t *ret_pid);
	/* Detaches from the process and frees the holder. */
	void (*close)(struct holder *holder);
};

struct holder {
	const struct holder_ops *ops;
};

enum hold_from {
	HOLD_NEVER, /* only stop it on demand */
	HOLD_NOW,
	HOLD_EXEC, /* hold it at its exit only after its next exec */
};

struct hold_request {
	pid_t pid;
	enum hold_from from;
	bool family; /* also hold its descendants, from their start */
	int event; /* eventfd, owned by the caller; written when one of them starts, is held, or is
		      over */
};

#endif
