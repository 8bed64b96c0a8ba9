/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guardian knows of the threads that it traces, and what it does when one stops. */
#ifndef MTRACE_SOURCE_PTRACE_GUARDIAN_TASKS_H
#define MTRACE_SOURCE_PTRACE_GUARDIAN_TASKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map64.h"
#include "base/vec.h"
#include "os/ptrace/holder.h"
#include "source/ptrace/breakpoint/space.h"
#include "source/ptrace/guardian/guardian.h"
#include "source/ptrace/guardian/wait.h"

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

struct task *task_find(const struct tracer *tracer, pid_t tid); /* NULL if unknown */
struct owner *owner_find(const struct tracer *tracer, pid_t pid);
/* Is any of its threads in that state? */
bool owner_has(const struct tracer *tracer, const struct owner *owner, enum task_state state);

/* Trace all threads of a running process. 0 or -errno. */
int tasks_seize(struct tracer *tracer, pid_t pid);
/* Put the original code back, and let go of all threads of a process. */
void owner_leave(struct tracer *tracer, struct owner *owner);
/* The same for all; then only threads that may be at a breakpoint still are waited for. */
void tasks_leave(struct tracer *tracer);
/* Is there a thread that has to be waited for before we may end? */
bool tasks_remain(const struct tracer *tracer);

/* What waitpid told. */
void task_changed(struct tracer *tracer, pid_t tid, int status);

/* The thread runs on, with a signal or without. */
void task_continue(struct task *task, int signal);

/* All threads of a process stop (call task_changed until owner_stands), and go on. */
void owner_freeze(struct tracer *tracer, struct owner *owner);
bool owner_stands(const struct tracer *tracer, const struct owner *owner);
void owner_thaw(struct tracer *tracer, struct owner *owner);

/* Write a record, or count its loss: was there room? */
bool tracer_emit(struct tracer *tracer, struct owner *owner, const struct ring_piece *pieces,
		 size_t count);
/* A thread has met a breakpoint. */
void tracer_follow(struct tracer *tracer, const struct task *task);
void tracer_ring(const struct tracer *tracer);
/* The same for one, stamped; its length is in its head. */
bool tracer_tell(struct tracer *tracer, struct owner *owner, struct record_head *record);

#endif
