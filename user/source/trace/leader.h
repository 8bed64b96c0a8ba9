/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes whose first thread has ended while others run on. The kernel ties the probes of a
 * process to that thread's memory, of which it has none any more: they stay where they are, but
 * none is placed in what is mapped from then on, nor at the request of a new link. So such a
 * process is traced by probes that are for everybody (COOKIE_FLAG_ANYBODY), which the BPF programs
 * heed for it alone; from one call to the next they take over from its own.
 */
#ifndef MTRACE_SOURCE_TRACE_LEADER_H
#define MTRACE_SOURCE_TRACE_LEADER_H

#include "source/process/traced_process.h"

/* Its first thread is gone, or was when the process was found. 0 or -errno. */
int leader_lost(struct traced_process *process, struct shared_probes *shared);
/* A new mapping: one that came before the probes are there for it was not watched until then. */
void leader_count_gap(struct traced_process *process, uint64_t mapped_ns);
/* Another thread has taken the place of the first, by exec, and the process has probes of its own
 * again: those take over. */
void leader_found(struct traced_process *process, struct shared_probes *shared, uint64_t exec_ns);
/* The process is not traced any more, or not so. */
void leader_forget(const struct traced_process *process, struct shared_probes *shared);
#endif
