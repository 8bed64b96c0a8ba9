/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guardian knows of the processes and threads that it traces. */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_TRACER_H
#define MTRACE_SOURCE_PTRACE_TRACER_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map64.h"
#include "base/vec.h"
#include "bpf/abi.h"
#include "source/ptrace/tracer/config.h"
#include "source/ptrace/tracer/wait.h"

struct shared;     /* source/ptrace/tracer/mailbox.h */
struct space;      /* source/ptrace/breakpoint/space.h */
struct task_calls; /* source/ptrace/breakpoint/calls.h */

/* A process. */
struct owner {
	pid_t pid;
	struct space *memory;
	bool bystander; /* it has our breakpoints, because it has a traced process's memory */
	bool narrow;    /* its image is of 32 bits */
	bool watched;   /* it is to be held at its end */
	bool watched_from_exec;
	bool ending;   /* it is known to */
	bool unseen;   /* a thread has exited without an exit stop (os/ptrace/tracees.h) */
	bool told_end; /* all threads stand there */
	bool frozen;   /* its threads are being stopped, or stand */
	uint32_t tasks;
	uint64_t start_stack; /* where the kernel has put its arguments; 0: not known */
	uint64_t seed;        /* of its stacks' ids: another for each image */
	uint64_t losses[LOSS_COUNT];
	bool has_uprobes;    /* somebody else's, since we trace it … */
	uint64_t uprobes_ns; /* … placed then or later; 0: they are gone again */
	bool doubted;        /* that hits come through, since uprobes_ns */
};

#define SEEN_STACKS 65536 /* a power of two */
#define GRAVES      64

enum task_state {
	TASK_RUNS,
	TASK_EARLY,   /* it stands, and what it is we shall hear from who gave birth to it */
	TASK_HELD,    /* it stands until the command says that it may go on */
	TASK_FROZEN,  /* it stands because its process is frozen */
	TASK_EXITING, /* it stands at the beginning of its exit */
	TASK_LEFT,    /* it has gone on from there; only its end is to come */
};

struct task {
	pid_t tid;
	enum task_state state;
	bool leaves;         /* not to be traced: to be let go at its first stop */
	bool meets_new_code; /* a mapping that the command has not seen: it is to be held */
	uint64_t early_ns;   /* since when */
	bool listens;        /* of one that is frozen: job control has stopped it */
	int signal;          /* of one that is frozen: to be delivered when it goes on */
	uint64_t done_ip;    /* all but the instruction is done of the breakpoint there … */
	uint64_t done_sp;    /* … with that stack pointer */
	struct owner *owner; /* NULL of one that came early */
	struct task_calls *calls;
};

struct tracer {
	struct guardian_config config;
	struct shared *shared;
	int socket;
	bool ends;          /* breakpoints are gone: let go of whoever stops */
	bool ticks_often;   /* a timer interrupts us */
	bool undecided;     /* threads exit, and it is not known why: look at them */
	bool alone;         /* the command has ended */
	bool rung;          /* the reader knows that much waits */
	struct map64 index; /* tid → index into tasks */
	VEC(struct task *) tasks;
	VEC(struct owner *) owners;
	bool early;                  /* some came early: look at them */
	struct owner graves[GRAVES]; /* see orphans.h: a ring … */
	uint64_t buried;             /* … in which there were so many */
	struct owner *stopping;      /* somebody waits for it to stand … */
	bool stopping_gone;          /* it is no more */
	uint64_t deadline_ns;        /* … until then */
	uint64_t stops;              /* at breakpoints */
	uint64_t looked_ns;          /* when it was last seen which of them stand */
	int processor;               /* on which we run, or -1 */
	struct stop_wait wait;
	uint64_t images; /* so far */
	uint64_t slices;
	uint64_t *seen; /* SEEN_STACKS ids of stacks that were sent */
};

#endif
