/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads back a JSON report. */
#ifndef MTRACE_APP_REPORT_REPORT_FILE_H
#define MTRACE_APP_REPORT_REPORT_FILE_H

#include "base/error.h"
#include "model/snapshot/snapshot.h"

/*
 * Reads the processes with their sums, sites and stacks. For each site it reads the allocated, live
 * and definitely leaked amounts. The caller frees the snapshot. Returns 0, or -errno with a
 * message: the file cannot be read or is no report.
 */
int report_file_read(struct snapshot **ret_snapshot, const char *path, struct error *err);

#endif
