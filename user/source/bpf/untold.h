/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that had no room in the ring buffer: they wait in maps (bpf/untold.bpf.h). */
#ifndef MTRACE_SOURCE_BPF_UNTOLD_H
#define MTRACE_SOURCE_BPF_UNTOLD_H

#include "source/trace/backend.h"

/* The processes for which an event waits: stores their pids, returns how many. Ask for execs first:
 * a child that was born before its parent's exec could be missed otherwise. */
size_t execs_untold(const struct trace_source *bpf, uint32_t ret_pids[EXECS_UNTOLD]);
size_t births_untold(const struct trace_source *bpf, uint32_t ret_pids[BIRTHS_UNTOLD]);
size_t mappings_untold(const struct trace_source *bpf, uint32_t ret_pids[MAPPINGS_UNTOLD]);
/* Takes the event that a process has new mappings. Stores since when it has them; returns false if
 * no such event waits. */
bool mappings_take(struct trace_source *bpf, pid_t pid, uint64_t *ret_since_ns);

/* How the shared code takes the other events. */
extern const struct untold_ops untold_ops;

#endif
