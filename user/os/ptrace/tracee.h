/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that are traced by ptrace: code shared by freeze.c and exit_watch.c. */
#ifndef MTRACE_OS_PTRACE_TRACEE_H
#define MTRACE_OS_PTRACE_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Parts of the status of a stop, as returned by waitid. The event is PTRACE_EVENT_…, or 0 if a
 * signal is about to be delivered. */
#define TRACEE_EVENT(status)  ((status) >> 8)
#define TRACEE_SIGNAL(status) ((status)&0xff)

struct thread_registers {
	pid_t tid;
	uint32_t word;     /* pointer size in bytes: 8 or 4; 0 if unknown, then there is no stack
			      pointer */
	uint32_t red_zone; /* bytes below the stack pointer that are also in use */
	uint32_t chunk;    /* see registers_layout */
	uint64_t stack;    /* the stack pointer */
	uint64_t thread;   /* the thread pointer; 0 if unknown */
	void *bytes;       /* general, floating point and vector registers, 8-byte aligned */
	size_t size;
};

/* Reads the registers of a stopped thread, replacing those read before. Call this from its
 * tracer. */
void tracee_read_registers(struct thread_registers *registers);
void tracee_free_registers(struct thread_registers *registers);

/* Returns true if the thread is a zombie or gone. */
bool tracee_is_dead(pid_t pid, pid_t tid);
/* Returns true if the thread is in a ptrace stop. It leaves the stop when it is killed. */
bool tracee_is_stopped(pid_t pid, pid_t tid);
/* Returns the tracer of the thread; 0 if it has none or is gone. */
pid_t tracee_tracer(pid_t pid, pid_t tid);
/* Returns true if a seccomp filter or strict mode restricts the thread. Kernels without seccomp do
 * not say. */
bool tracee_has_seccomp(pid_t pid, pid_t tid);
/* Sets *err to the reason why PTRACE_SEIZE failed. Returns `code`. */
int tracee_refuse(pid_t pid, pid_t tid, int code, struct error *err);

/* Returns the number of the system call (in the thread's ABI) in which the thread sleeps, or -1. */
long tracee_call(pid_t pid, pid_t tid);
/* Returns true if the thread may be in a call that creates a thread or process. For a running
 * thread this is unknown, so the result is true. */
bool tracee_may_fork(pid_t pid, pid_t tid);

#endif
