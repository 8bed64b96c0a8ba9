/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guardian: a process of ours that owns the trace by ptrace. It is the kernel's part of the
 * work: it places breakpoints, and from each hit it makes the records that the BPF programs would
 * make, by the same code (bpf/alloc.bpf.h). It reads no file of the traced programs, and keeps no
 * books.
 *
 * It is a process of its own so that breakpoints do not outlive who answers for them. A traced
 * process that meets one without a tracer dies. Whatever ends the command, a crash or kill -9, ends
 * its socket, and then the guardian puts the original code back and lets go. It has a session of
 * its own, and heeds no signal that can be heeded. kill -9 of the guardian itself is what nothing
 * can help against.
 *
 * A thread that meets a breakpoint waits for nobody but the guardian, with these exceptions: after
 * exec, and when the dynamic linker has changed its list, it is held until the command has seen
 * the new mappings and asked for breakpoints in them (RECORD_HELD); and where the ring is full, for
 * a moment, until the reader has read.
 */
#ifndef MTRACE_SOURCE_PTRACE_GUARDIAN_GUARDIAN_H
#define MTRACE_SOURCE_PTRACE_GUARDIAN_GUARDIAN_H

#include "base/error.h"
#include "source/ptrace/tracer/config.h"
#include "source/ptrace/tracer/mailbox.h"

#define GUARDIAN_NAME "mtrace-guardian" /* as ps shows it */

/* As the command sees it. */
struct guardian {
	struct shared shared;
	int socket;
	pid_t pid;
	bool detached; /* whoever is asked after has been let go: -ESRCH */
};

/* Fork it, before there are threads in this process. 0 or -errno; end in any case. */
int guardian_start(struct guardian *guardian, const struct guardian_config *config,
		   uint64_t ring_bytes);
/* It lets go of everything, and ends as soon as the last thread of a traced process allows. */
void guardian_end(struct guardian *guardian);

int guardian_ask(struct guardian *guardian, enum request request, pid_t pid);

#endif
