/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name of a process, and how it ended, in words. */
#ifndef MTRACE_REPORT_COMMON_PROCESS_H
#define MTRACE_REPORT_COMMON_PROCESS_H

#include <stdbool.h>

#include "model/snapshot/snapshot.h"
#include "report/common/amount.h"

#define NAME_COLUMNS 40 /* columns that reports give to a process name */

/* The process's comm, the base name of its executable, or "?". Valid as long as the snapshot. */
const char *process_name(const struct snapshot_process *process);

/*
 * The state of the process: "running", "exited with status 1". Returns a constant, or `text` after
 * writing to it.
 */
const char *fate_of(const struct snapshot_process *process, char text[AMOUNT_SIZE]);
/* Returns true if the process exited with a status other than 0, or was killed. */
bool fate_is_bad(const struct snapshot_process *process);

#endif
