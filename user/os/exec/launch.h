/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Launches a program and holds it between fork and exec, so that probes can be placed before its
 * first instruction. The child inherits what it would have inherited from the process that started
 * us: descriptors (ours are close-on-exec), the signals that were ignored and the signal mask of
 * that time, the process group, session and environment. If we die while the child is held, it
 * exits without executing anything.
 */
#ifndef MTRACE_OS_EXEC_LAUNCH_H
#define MTRACE_OS_EXEC_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct launch_options {
	char *const *argv;
	const char *user;      /* run as this user (name or number), or NULL */
	const char *directory; /* chdir there first, or NULL */
	const sigset_t *mask;  /* its signal mask (loop_original_mask); NULL: our current mask */
	bool background; /* no standard input, and a new process group, so that it gets no signals
			    from the terminal, like `&` in a shell */
	const sigset_t
		*ignored; /* signals to ignore, all others are set to default; NULL: inherit */
};

struct launch {
	pid_t pid;
	char *program; /* absolute path of the program to execute: argv[0] as found on PATH */
	int hold;      /* internal: writing to it releases the child */
	int status;    /* becomes readable when exec has succeeded or failed (launch_confirm) */
};

/* Exit statuses: 127 and 126 as in shells. */
#define LAUNCH_NOT_FOUND      127
#define LAUNCH_NOT_EXECUTABLE 126
#define LAUNCH_FAILED         125

/*
 * Forks the child and holds it. On failure, returns -errno (also in err->code), and sets *ret_exit
 * to the exit status for mtrace-bpf (125, 126 or 127).
 */
int launch_hold(const struct launch_options *options, struct launch *ret_launch, int *ret_exit,
		struct error *err);
/* Lets the child call exec. */
void launch_release(struct launch *launch);
/* Waits until exec succeeded or failed. On failure, the child is reaped, and the results are those
 * of launch_hold. */
int launch_confirm(struct launch *launch, int *ret_exit, struct error *err);
/*
 * Returns true if the child has exited; then it is reaped, and *ret_status is set as by wait(2).
 * Ignores stops of the child, which the kernel also reports to a parent that traces it: they are
 * for the tracer.
 */
bool launch_ended(const struct launch *launch, int *ret_status);
/* Kills and reaps a child that was never released. */
void launch_abandon(struct launch *launch);
void launch_close(struct launch *launch);

#endif
