/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that are traced by ptrace: what freeze.c and exit_watch.c have in common. */
#ifndef MTRACE_OS_PTRACE_TRACEE_H
#define MTRACE_OS_PTRACE_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Of a stop's status, as waitid gives it: PTRACE_EVENT_…; 0: a signal is about to be delivered. */
#define TRACEE_EVENT(status)  ((status) >> 8)
#define TRACEE_SIGNAL(status) ((status)&0xff)

struct thread_registers {
	pid_t tid;
	uint32_t word;     /* bytes of a pointer: 8, 4; 0: of an unknown kind, no stack pointer */
	uint32_t red_zone; /* bytes below the stack pointer that are in use, too */
	uint32_t chunk;    /* see registers_layout */
	uint64_t stack;    /* the stack pointer */
	uint64_t thread;   /* the thread pointer; 0: not known */
	void *bytes;       /* general, floating point and vector registers, 8-byte aligned */
	size_t size;
};

/* Of a thread that has stopped, by its tracer; what was read before is replaced. */
void tracee_read_registers(struct thread_registers *registers);
void tracee_free_registers(struct thread_registers *registers);

/* A zombie, or gone. */
bool tracee_is_dead(pid_t pid, pid_t tid);
/* Is it in a stop that its tracer knows of? Not so once it was killed. */
bool tracee_stands(pid_t pid, pid_t tid);
/* Who traces the thread already; 0: nobody, or it is gone. */
pid_t tracee_tracer(pid_t pid, pid_t tid);
/* Why PTRACE_SEIZE failed, in words; returns the code. */
int tracee_refuse(pid_t pid, pid_t tid, int code, struct error *err);

/* The system call in which a thread is that does not run, or -1. Of its own ABI. */
long tracee_call(pid_t pid, pid_t tid);
/* May it be in a call that gives birth to a thread or process? Of one that runs we cannot know. */
bool tracee_may_give_birth(pid_t pid, pid_t tid);

#endif
