/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starting a program that is held between fork and exec, so that probes can be placed before its
 * first instruction. The child inherits what it would from whoever started us: descriptors (ours
 * are close-on-exec), the signals that were ignored then and the mask of that time, the process
 * group, session and environment. If we die while it is held, it exits without executing anything.
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
	const sigset_t *mask; /* signal mask for it (loop_original_mask); NULL: ours as it is now */
	bool background; /* no standard input, and a process group of its own: what the terminal
			    sends is not for it, as with a shell's & */
	const sigset_t
		*ignored; /* signals that it ignores, all others default; NULL: as it is now */
};

struct launch {
	pid_t pid;
	char *program; /* what will be executed: argv[0] found on PATH; absolute */
	int hold;      /* internal: written to let it go */
	int status;    /* readable once it has executed, or failed to (launch_confirm) */
};

/* 127 and 126 of a shell: */
#define LAUNCH_NOT_FOUND      127
#define LAUNCH_NOT_EXECUTABLE 126
#define LAUNCH_FAILED         125

/*
 * Fork the child and hold it. On failure the error's code is -errno and *ret_exit the exit status
 * that mtrace-bpf must end with (125, 126, 127).
 */
int launch_hold(const struct launch_options *options, struct launch *ret_launch, int *ret_exit,
		struct error *err);
/* Let it exec. */
void launch_release(struct launch *launch);
/* Wait until that happened or failed (then the child is reaped, status as above). */
int launch_confirm(struct launch *launch, int *ret_exit, struct error *err);
/*
 * Has the child ended? It is reaped then, and *ret_status as wait(2) gives it. Its stops, which
 * the kernel shows to a parent in the process that traces the child, are left to the tracer.
 */
bool launch_ended(const struct launch *launch, int *ret_status);
/* Kill and reap a child that was never released. */
void launch_abandon(struct launch *launch);
void launch_close(struct launch *launch);

#endif
