/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports what was missed of a process as an event. */
#ifndef MTRACE_SOURCE_TRACE_LOSSES_H
#define MTRACE_SOURCE_TRACE_LOSSES_H

#include "source/process/traced_process.h"

/* Delivers EVENT_LOSSES: the counters of the BPF programs (or the ptrace tracer), and our own.
 * Returns what `deliver` returns. */
int processes_deliver_losses(const struct traced_process *process,
			     const uint64_t count[LOSS_COUNT]);

#endif
