/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that had no room in the ring buffer: they wait in maps (bpf/untold.bpf.h). */
#ifndef MTRACE_SOURCE_BPF_UNTOLD_H
#define MTRACE_SOURCE_BPF_UNTOLD_H

#include "source/trace/backend.h"

/* What had no room in the ring: of whom it waits by now. Execs are to be asked for first, for
 * nobody's children born before one shall be missed. */
size_t execs_untold(const struct trace_source *bpf, uint32_t ret_pids[EXECS_UNTOLD]);
size_t births_untold(const struct trace_source *bpf, uint32_t ret_pids[BIRTHS_UNTOLD]);
size_t mappings_untold(const struct trace_source *bpf, uint32_t ret_pids[MAPPINGS_UNTOLD]);
extern const struct untold_ops untold_ops;
/* Since when; false if all have been told. */
bool mappings_take(struct trace_source *bpf, pid_t pid, uint64_t *ret_since_ns);

#endif
