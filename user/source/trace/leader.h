/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes whose leader (first thread) has exited while others continue. The kernel ties the
 * probes of a process to the leader's memory, which it no longer has: existing probes stay, but
 * none are placed in new mappings or for a new link. So this process is traced by probes in all
 * processes (COOKIE_FLAG_ANYBODY), which the BPF programs ignore for other processes. They take
 * over from its own probes between two calls.
 */
#ifndef MTRACE_SOURCE_TRACE_LEADER_H
#define MTRACE_SOURCE_TRACE_LEADER_H

#include "source/process/traced_process.h"

/* The leader has exited, now or before the process was found. Returns 0 or -errno. */
int leader_lost(struct traced_process *process, struct shared_probes *shared);
/* Counts the gap of a new mapping that was mapped before its probes were in place. */
void leader_count_gap(struct traced_process *process, uint64_t mapped_ns);
/* Another thread has become the leader, by exec, and the process has its own probes again, which
 * take over. */
void leader_found(struct traced_process *process, struct shared_probes *shared, uint64_t exec_ns);
/* The process is no longer traced, or no longer by probes in all processes. */
void leader_forget(const struct traced_process *process, struct shared_probes *shared);
#endif
