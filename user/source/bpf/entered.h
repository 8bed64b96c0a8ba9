/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that the BPF programs know, and what those have counted. */
#ifndef MTRACE_SOURCE_BPF_ENTERED_H
#define MTRACE_SOURCE_BPF_ENTERED_H

#include "source/trace/backend.h"

/* processes_new(), and the BPF programs trace the process. 0 or -errno with words. */
int processes_enter(struct trace_source *bpf, pid_t pid, struct traced_process **ret_process,
		    struct error *err);
/* processes_remove(), and the BPF programs trace the process no more. */
void processes_forget(struct trace_source *bpf, struct traced_process *process);

/* What the BPF programs have counted; zeros if the process is not entered any more. */
void processes_losses(const struct trace_source *bpf, pid_t pid, uint64_t ret_count[LOSS_COUNT]);

#endif
