/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holding programs before they begin: the kernel asks before it opens a file to execute it
 * (fanotify, FAN_OPEN_EXEC_PERM), and until it has its answer the task that wants to waits, with
 * its old image whole.
 *
 * Every exec on the machine waits for the answer. So a separate process, the guard, answers, and it
 * does nothing that could take long: it allows the exec of what nobody traces at once, and asks the
 * tracer about the rest. If the tracer does not answer for the patience, the guard allows all
 * waiting execs, and all further ones until the tracer answers again. So a tracer that is stopped
 * (SIGSTOP, ^Z, a debugger) or deadlocked delays one exec only; a thread of the tracer in place of
 * the guard would block them all. While the tracer answers others, an exec waits up to a limit.
 *
 * The guard can stop answering, too: SIGSTOP, a debugger, a loop that never ends. So it has a timer
 * that sends it SIGKILL, and sets it anew with each turn of its loop. The kernel delivers SIGKILL
 * to a stopped process, and no other process is needed that could be stopped as well. No other
 * process has the fanotify descriptor: when the guard exits, with the tracer at the latest, the
 * kernel allows all waiting execs. Two things can delay that exit: a debugger that asked for
 * PTRACE_EVENT_EXIT and does not continue the guard, and what makes a process immune to SIGKILL for
 * a while (uninterruptible sleep, the freezer of cgroup v1). The clock of the timer does not run
 * while the machine is suspended. A guard that gets no processor for that long is killed without
 * need; so it has a high priority, and the caller can start another one.
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

struct guard_shared;

struct exec_guard {
	pid_t pid; /* 0: none */
	int socket;
	struct guard_shared *shared;
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
/* The next one that waits: 1, 0 if there is none, or -errno if the guard has exited and all that it
 * reported before have been taken. guard->socket is readable unless it is 0. */
int exec_guard_take(const struct exec_guard *guard, struct held_exec *ret_held);
/* When it was let go unasked (the earliest time possible, if the guard has exited), or UINT64_MAX:
 * it waits until it is allowed. */
uint64_t exec_guard_let_go_ns(const struct exec_guard *guard, const struct held_exec *held);
/* Let it go, and close its file. */
void exec_guard_allow(const struct exec_guard *guard, struct held_exec *held);
/* Let all go, and hold no more. Zeroed memory is fine. */
void exec_guard_stop(struct exec_guard *guard);

#endif
