/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies the model of a process to its section of a snapshot. */
#ifndef MTRACE_MODEL_SNAPSHOT_CAPTURE_H
#define MTRACE_MODEL_SNAPSHOT_CAPTURE_H

#include "model/process/state.h"
#include "model/snapshot/snapshot.h"

/* Fills in a zeroed section. Returns 0 or -ENOMEM. */
int capture_process(struct snapshot *snapshot, const struct process *process, uint64_t now_ns,
		    struct snapshot_process *section);

/* Fills in only what snapshot_compare and snapshot_others_add use: no identity, no sites. */
void capture_sums(const struct process *process, struct snapshot_process *section);

#endif
