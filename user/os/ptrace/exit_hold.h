/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process that is watched until it exits: which stop of a thread is the exit of the process,
 * and what to do with the threads. Used by exit_watch.c. All functions must be called by the thread
 * that traces.
 */
#ifndef MTRACE_OS_PTRACE_EXIT_HOLD_H
#define MTRACE_OS_PTRACE_EXIT_HOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/ptrace/tracees.h"

/* To start with, all fields are zero except pid. */
struct exit_hold {
	pid_t pid;
	struct tracees tracees;
	bool armed;    /* hold the process at its exit; false until the exec that is waited for */
	bool stopping; /* threads that stop stay stopped */
	bool ending;   /* hold all threads */
	uint64_t deadline_ns; /* of the stop that is waited for, or of undecided exits; 0 if there
				 is none */
	int failure;          /* -errno of the last failed stop */
	/* Also used by other threads: */
	atomic_bool at_end;          /* all threads are held at the exit */
	struct tracee_set on_demand; /* registers at a requested stop … */
	struct tracee_set at_last;   /* … and at the exit */
};

/* Starts to stop all threads; hold_check tells when they have stopped. */
void hold_begin_stop(struct exit_hold *hold);
/* Continues all threads. */
void hold_resume(struct exit_hold *hold);
/* Called when a thread of the process has stopped with that wait status. */
void hold_stopped(struct exit_hold *hold, struct tracee *tracee, int status);
/* Called after an exec: the thread that called execve is now the first and only one. */
void hold_exec(struct exit_hold *hold);

enum hold_state {
	HOLD_NONE,     /* not waiting for a stop */
	HOLD_WAITS,    /* still waiting */
	HOLD_COMPLETE, /* just completed: the registers are read; at_end is set if it is the exit */
	HOLD_FAILED,   /* failed: the threads continue */
};

/* Updates undecided exits and a stop that is waited for. */
enum hold_state hold_check(struct exit_hold *hold);

void hold_free(struct exit_hold *hold);

#endif
