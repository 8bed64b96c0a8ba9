/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds programs before they start: the kernel asks before it opens a file to execute it (fanotify,
 * FAN_OPEN_EXEC_PERM). Until it gets an answer, the calling task waits with its old image intact.
 *
 * Every exec on the machine waits for the answer. So a separate process, the guard, answers, and it
 * does nothing that could take long: it allows execs of untraced processes at once, and asks the
 * tracer about the rest. If the tracer does not answer within the patience, the guard allows all
 * waiting execs, and all further ones until the tracer answers again. So a tracer that is stopped
 * (SIGSTOP, ^Z, a debugger) or deadlocked delays only one exec; if the guard were a thread of the
 * tracer, it would block them all. As long as the tracer answers others, an exec waits at most for
 * the limit.
 *
 * The guard itself can also stop answering: SIGSTOP, a debugger, an endless loop. So it has a timer
 * that sends it SIGKILL, and restarts the timer with each turn of its loop. The kernel delivers
 * SIGKILL even to a stopped process, and no further process is needed that could itself be stopped.
 * No other process has the fanotify descriptor: when the guard exits, with the tracer at the
 * latest, the kernel allows all waiting execs. Two things can delay that exit: a debugger that
 * asked for PTRACE_EVENT_EXIT and does not continue the guard, and anything that makes a process
 * immune to SIGKILL for a while (uninterruptible sleep, the freezer of cgroup v1). The timer's
 * clock does not run while the machine is suspended. A guard that gets no CPU time for that long is
 * killed without need; so it runs with high priority, and the caller can start another one.
 *
 * The guard executes nothing, opens no file by a path that a traced program could block, and does
 * not read memory of other processes.
 */
#ifndef MTRACE_OS_EXEC_GUARD_H
#define MTRACE_OS_EXEC_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct exec_guard_config {
	/* Returns true if the process should wait until the tracer has handled the file. Runs in
	 * the guard, which has a copy of the caller's memory as of exec_guard_start, and of its
	 * descriptors only `kept`. */
	bool (*wanted)(void *ctx, int kept, pid_t pid, int file);
	void *ctx;
	int kept;
	uint64_t patience_ns; /* maximum wait since the tracer last sent something or was asked … */
	uint64_t limit_ns;    /* … and maximum wait overall */
};

struct guard_shared;

struct exec_guard {
	pid_t pid; /* 0 if there is no guard */
	int socket;
	struct guard_shared *shared;
};

/* A process that waits in execve. */
struct held_exec {
	uint32_t id;
	pid_t pid;
	int file; /* the file to execute, open for reading; or a file that it needs: the interpreter
		     of a script, or the dynamic linker */
	uint64_t asked_ns; /* CLOCK_MONOTONIC */
};

/* Starts the guard. Returns 0, or -errno with a message in *err. */
int exec_guard_start(struct exec_guard *ret_guard, const struct exec_guard_config *config,
		     struct error *err);
/* Takes the next waiting exec. Returns 1, 0 if there is none, or -errno if the guard has exited and
 * everything that it reported before has been taken. While guard->socket is not readable, the
 * result is 0. */
int exec_guard_take(const struct exec_guard *guard, struct held_exec *ret_held);
/* The time at which the exec was let go without our permission (the earliest possible time if the
 * guard has exited), or UINT64_MAX if it still waits for exec_guard_allow. */
uint64_t exec_guard_let_go_ns(const struct exec_guard *guard, const struct held_exec *held);
/* Lets the exec go on and closes held->file. */
void exec_guard_allow(const struct exec_guard *guard, struct held_exec *held);
/* Stops the guard, which lets all waiting execs go. An all-zero guard is fine. */
void exec_guard_stop(struct exec_guard *guard);

#endif
