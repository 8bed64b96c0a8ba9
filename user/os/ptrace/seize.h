/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaches to a running process: traces all its threads, and all threads that they create. */
#ifndef MTRACE_OS_PTRACE_SEIZE_H
#define MTRACE_OS_PTRACE_SEIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/map64.h"
#include "base/vec.h"

struct seized_thread {
	pid_t tid;
	bool settled; /* everything that it creates is traced */
	bool stopped;
	int status; /* wait status of its stop, as returned by waitid; the caller must handle it */
};

struct seizure {
	pid_t pid;
	VEC(struct seized_thread) threads;
	struct map64 known; /* tid → index */
};

/*
 * Seizes the process with the given PTRACE_O_… options, which must include PTRACE_O_TRACECLONE.
 * Threads continue to run, except those marked in the result (see `stopped`). Returns 0 (free the
 * seizure then), or -errno with a message in *err, and no thread is traced: -ESRCH; -EPERM if
 * another process traces a thread; -EALREADY if we trace it already; -ETIMEDOUT if a thread is in
 * an uninterruptible sleep.
 */
int seize(struct seizure *ret_seizure, pid_t pid, uintptr_t options, struct error *err);
/* Detaches from all threads, leaving no trace, and frees the seizure. */
void seize_undo(struct seizure *seizure);
void seize_free(struct seizure *seizure);

#endif
