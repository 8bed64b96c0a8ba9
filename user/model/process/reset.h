/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restarts the counts of a process. */
#ifndef MTRACE_MODEL_PROCESS_RESET_H
#define MTRACE_MODEL_PROCESS_RESET_H

#include <stdint.h>

#include "model/process/state.h"

/*
 * Resets all counts, as if the trace started now. Live blocks stay known, so that their frees
 * match, but they no longer belong to a site. Losses are kept. Returns 0 or -ENOMEM.
 */
int process_reset(struct process *process, uint64_t now_ns);

#endif
