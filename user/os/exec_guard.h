/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holding programs before they begin: the kernel asks before it opens a file to execute it
 * (fanotify, FAN_OPEN_EXEC_PERM), and until it has its answer the task that wants to waits, with
 * its old image whole.
 *
 * Who does not answer hangs the machine. So that is the business of a process of its own, the
 * guard, which does nothing that could take long: what nobody traces it lets go at once; of the
 * rest it tells the tracer and waits for its word. When the patience passes without any word of the
 * tracer, it lets all go, and everything else until the tracer answers again. So a tracer that is
 * stopped (SIGSTOP, ^Z, a debugger) or deadlocked costs one wait and no more; with a thread of the
 * tracer each of these would stop every exec on the machine. One that is busy with others first is
 * waited for, up to a limit. No other process has the descriptor: when the guard ends, with the
 * tracer at the latest, the kernel lets go all that wait.
 *
 * The guard executes nothing, opens no file by a path that a traced program could block, and does
 * not read memory of others.
 */
#ifndef MTRACE_OS_EXEC_GUARD_H
#define MTRACE_OS_EXEC_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct exec_guard_config {
	/* Shall the process wait until we have seen to the file? Runs in the guard, which has a
	 * copy of our memory as it was at the start, and of our descriptors that one. */
	bool (*wanted)(void *ctx, int kept, pid_t pid, int file);
	void *ctx;
	int kept;
	uint64_t patience_ns; /* since the tracer was heard of, or asked … */
	uint64_t limit_ns;    /* … and altogether */
};

struct let_go;

struct exec_guard {
	pid_t pid; /* 0: none */
	int socket;
	struct let_go *let_go; /* what the guard did not wait for, shared with it */
};

/* A process that waits. */
struct held_exec {
	uint32_t id;
	pid_t pid;
	int file;          /* that it wants to execute, open for reading; or what that needs: a
			      script's interpreter, the dynamic linker */
	uint64_t asked_ns; /* CLOCK_MONOTONIC */
};

/* 0 or -errno with words. */
int exec_guard_start(struct exec_guard *ret_guard, const struct exec_guard_config *config,
		     struct error *err);
/* The next one that waits: 1, 0 if there is none, or -errno: the guard is gone. guard->socket is
 * readable when there is one. */
int exec_guard_take(const struct exec_guard *guard, struct held_exec *ret_held);
/* When it was let go unasked, or UINT64_MAX: it waits until it is allowed. */
uint64_t exec_guard_let_go_ns(const struct exec_guard *guard, const struct held_exec *held);
/* Let it go, and close its file. */
void exec_guard_allow(const struct exec_guard *guard, struct held_exec *held);
/* Let all go, and hold no more. Zeroed memory is fine. */
void exec_guard_stop(struct exec_guard *guard);

#endif
