/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a process's books to its section of a snapshot. */
#ifndef MTRACE_MODEL_SNAPSHOT_CAPTURE_H
#define MTRACE_MODEL_SNAPSHOT_CAPTURE_H

#include "model/process/state.h"
#include "model/snapshot/snapshot.h"

/* Fill in a zeroed section. 0 or -ENOMEM. */
int capture_process(struct snapshot *snapshot, const struct process *process, uint64_t now_ns,
		    struct snapshot_process *section);

/* What snapshot_compare and snapshot_others_add look at: no identity, no sites. */
void capture_sums(const struct process *process, struct snapshot_process *section);

#endif
