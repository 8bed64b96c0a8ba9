/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deferred records, which did not fit into the ring buffer and wait in maps (bpf/deferred.bpf.h).
 */
#ifndef MTRACE_SOURCE_BPF_DEFERRED_H
#define MTRACE_SOURCE_BPF_DEFERRED_H

#include "source/trace/backend.h"

/* The processes with deferred records: store their pids, and return their number. Call
 * execs_deferred() first, or a child that was forked before its parent's exec may be missed. */
size_t execs_deferred(const struct trace_source *bpf, uint32_t ret_pids[EXECS_DEFERRED]);
size_t forks_deferred(const struct trace_source *bpf, uint32_t ret_pids[FORKS_DEFERRED]);
size_t mappings_deferred(const struct trace_source *bpf, uint32_t ret_pids[MAPPINGS_DEFERRED]);
/* Takes the deferred record of new mappings of a process, and stores its time. Returns false if
 * there is none. */
bool mappings_take(struct trace_source *bpf, pid_t pid, uint64_t *ret_since_ns);

/* The operations to take the other deferred records. */
extern const struct deferred_ops deferred_ops;

#endif
