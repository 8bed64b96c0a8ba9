/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracer process's state of the processes and threads that it traces. */
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
	bool bystander; /* not traced, but shares the memory of a traced process */
	bool is_32bit;  /* 32-bit image */
	bool watched;   /* to be paused at its exit */
	bool watched_from_exec;
	bool ending;       /* known to be exiting */
	bool unseen;       /* a thread has exited without an exit stop (os/ptrace/tracees.h) */
	bool end_reported; /* all threads are stopped at their exits */
	bool frozen;       /* its threads are being stopped, or are stopped */
	uint32_t tasks;
	uint64_t start_stack; /* where the kernel has put its arguments; 0: unknown */
	uint64_t seed;        /* of its stack ids: one per image */
	uint64_t losses[LOSS_COUNT];
	bool has_uprobes;    /* another tool has placed uprobes while we trace it */
	uint64_t uprobes_ns; /* placed then or later; 0: they are gone */
	bool unconfirmed;    /* our breakpoints may not be hit, since uprobes_ns */
};

#define SEEN_STACKS 65536 /* a power of two */
#define GRAVES      64

enum task_state {
	TASK_RUNS,
	TASK_UNANNOUNCED, /* stopped, until its creator reports what it is */
	TASK_HELD,        /* stopped until the command resumes it */
	TASK_FROZEN,      /* stopped because its process is frozen */
	TASK_EXITING,     /* stopped at the start of its exit */
	TASK_LEFT,        /* resumed from there; it only has to exit */
};

struct task {
	pid_t tid;
	enum task_state state;
	bool leaves;             /* not to be traced: detach at its next stop */
	bool meets_new_code;     /* in a mapping that the command has not seen: hold it */
	uint64_t unannounced_ns; /* since when */
	bool listens;            /* frozen: job control has stopped it */
	int signal;              /* frozen: deliver it when resumed */
	uint64_t done_ip;        /* the hit there is handled except for the instruction … */
	uint64_t done_sp;        /* … with that stack pointer */
	struct owner *owner;     /* NULL while TASK_UNANNOUNCED */
	struct task_calls *calls;
};

struct tracer {
	struct tracer_process_config config;
	struct shared *shared;
	int socket;
	bool detaches;      /* tracing has ended: detach from each thread when it stops */
	bool ticks_often;   /* a timer interrupts us */
	bool undecided;     /* it is not known why some threads exit: recheck them */
	bool alone;         /* the command has exited */
	bool rung;          /* the reader has been woken */
	struct map64 index; /* tid → index into tasks */
	VEC(struct task *) tasks;
	VEC(struct owner *) owners;
	bool has_unannounced;        /* some threads are TASK_UNANNOUNCED: recheck them */
	struct owner graves[GRAVES]; /* see orphans.h: a ring buffer … */
	uint64_t buried;             /* … and how many were ever added */
	struct owner *stopping;      /* a request waits until it is stopped … */
	bool stopping_gone;          /* it has exited */
	uint64_t deadline_ns;        /* … until this time */
	uint64_t stops;              /* at breakpoints */
	uint64_t checked_ns;         /* last check of the breakpoints */
	int processor;               /* CPU that we run on, or -1 */
	struct stop_wait wait;
	uint64_t images; /* number of images so far */
	uint64_t stack_dumps;
	uint64_t *seen; /* SEEN_STACKS ids of stacks that were sent */
};

#endif
