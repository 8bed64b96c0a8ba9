/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Becoming the tracer of a running process: of all its threads, and of all to whom they will give
 * birth. */
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
	bool settled; /* whoever it gives birth to is traced, too */
	bool stands;
	int status; /* of that stop, as waitid gives it: the caller's to deal with */
};

struct seizure {
	pid_t pid;
	VEC(struct seized_thread) threads;
	struct map64 known; /* tid → index */
};

/*
 * With PTRACE_O_… options, among them PTRACE_O_TRACECLONE. Threads run on, but for those that stand
 * in the result. 0, and the seizure is to be freed; or -errno with words, and nobody is traced:
 * -ESRCH; -EPERM if somebody else traces a thread; -EALREADY if we do; -ETIMEDOUT if one sleeps in
 * the kernel, where nobody can stop it.
 */
int seize(struct seizure *ret_seizure, pid_t pid, uintptr_t options, struct error *err);
/* Let all go as if nothing had been, and free. */
void seize_undo(struct seizure *seizure);
void seize_free(struct seizure *seizure);

#endif
