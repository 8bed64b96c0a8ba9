/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process that is watched for its end: which of its threads' stops is the end, and what becomes
 * of them. For exit_watch.c, which has the thread that traces; all functions are for that thread.
 */
#ifndef MTRACE_OS_PTRACE_EXIT_HOLD_H
#define MTRACE_OS_PTRACE_EXIT_HOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/ptrace/tracees.h"

/* Zeroed memory with a pid is a process that is not yet watched. */
struct exit_hold {
	pid_t pid;
	struct tracees tracees;
	bool armed;           /* the end counts: not before the exec that is awaited */
	bool stopping;        /* what stops stays so */
	bool ending;          /* all threads are to be held */
	uint64_t deadline_ns; /* of the stop that is awaited, or of undecided exits; 0: none */
	int failure;          /* why the last stop did not come about */
	/* For other threads, too. */
	atomic_bool at_end;          /* all threads are held */
	struct tracee_set on_demand; /* registers in a stop that was asked for … */
	struct tracee_set at_last;   /* … and at the end */
};

/* Stop all threads; hold_check tells when. */
void hold_begin_stop(struct exit_hold *hold);
/* They go on. */
void hold_resume(struct exit_hold *hold);
/* A thread of its own has stopped, with that wait status. */
void hold_stopped(struct exit_hold *hold, struct tracee *tracee, int status);
/* The one that called execve is the first thread now, and the only one. */
void hold_exec(struct exit_hold *hold);

enum hold_state {
	HOLD_NONE,     /* no stop is awaited */
	HOLD_WAITS,    /* it is not there yet */
	HOLD_COMPLETE, /* it just came: registers are read, at_end is set if it is the end */
	HOLD_FAILED,   /* it will not: they go on */
};

/* What has become of exits that were undecided, and of a stop that is awaited. */
enum hold_state hold_check(struct exit_hold *hold);

void hold_free(struct exit_hold *hold);

#endif
