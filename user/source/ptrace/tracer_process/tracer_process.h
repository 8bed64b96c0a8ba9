/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer process: a separate process of ours that does the tracing by ptrace. It takes the role
 * of the kernel: it places breakpoints, and turns each hit into the records that the BPF programs
 * would write, with the same code (bpf/alloc.bpf.h). It reads no files of the traced programs, and
 * has no model.
 *
 * It is a separate process so that breakpoints do not outlive their tracer: a traced process that
 * hits one without a tracer dies. However the command ends, including by a crash or kill -9, its
 * socket is closed; the tracer process then restores the original code and detaches. It runs in its
 * own session and ignores all signals that can be ignored. Only kill -9 of the tracer process
 * itself cannot be handled.
 *
 * A thread at a breakpoint only waits for the tracer process, with these exceptions: after exec,
 * and when the dynamic linker has changed its list, it is held until the command has seen the new
 * mappings and asked for breakpoints in them (RECORD_HELD); and if the ring is full, it waits a
 * moment for the reader.
 */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_PROCESS_TRACER_PROCESS_H
#define MTRACE_SOURCE_PTRACE_TRACER_PROCESS_TRACER_PROCESS_H

#include "base/error.h"
#include "source/ptrace/tracer/config.h"
#include "source/ptrace/tracer/mailbox.h"

#define TRACER_PROCESS_NAME "mtrace-tracer" /* as shown by ps */

/* The command's handle. */
struct tracer_process {
	struct shared shared;
	int socket;
	pid_t pid;
	bool detached; /* everything has been detached: requests return -ESRCH */
};

/* Forks it. Call this before the process has threads. Returns 0 or -errno; call
 * tracer_process_end() in any case. */
int tracer_process_start(struct tracer_process *tracer_process,
			 const struct tracer_process_config *config, uint64_t ring_bytes);
/* Makes it detach from everything. It exits as soon as the last traced thread allows. */
void tracer_process_end(struct tracer_process *tracer_process);

int tracer_process_ask(struct tracer_process *tracer_process, enum request request, pid_t pid);

#endif
