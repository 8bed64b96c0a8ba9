/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that the BPF programs trace, and their counters. */
#ifndef MTRACE_SOURCE_BPF_ENTERED_H
#define MTRACE_SOURCE_BPF_ENTERED_H

#include "source/trace/backend.h"

/* processes_new(), and makes the BPF programs trace the process. Returns 0 or -errno; sets *err. */
int processes_enter(struct trace_source *bpf, pid_t pid, struct traced_process **ret_process,
		    struct error *err);
/* processes_remove(), and makes the BPF programs stop tracing the process. */
void processes_forget(struct trace_source *bpf, struct traced_process *process);

/* The counters of the BPF programs; zeros if the process is no longer traced. */
void processes_losses(const struct trace_source *bpf, pid_t pid, uint64_t ret_count[LOSS_COUNT]);

#endif
