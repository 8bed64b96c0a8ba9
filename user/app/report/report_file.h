/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads back a JSON report. */
#ifndef MTRACE_APP_REPORT_REPORT_FILE_H
#define MTRACE_APP_REPORT_REPORT_FILE_H

#include "base/error.h"
#include "model/snapshot/snapshot.h"

/*
 * Reads the processes with their sums, stacks, and the sites that were used. For each site it reads
 * the allocated, live and leaked amounts, and its growth. The snapshot takes at most 384 MiB; the
 * caller frees it. Returns 0, or -errno with a message: the file cannot be read, is no report, or
 * is too large.
 */
int report_file_read(struct snapshot **ret_snapshot, const char *path, struct error *err);

#endif
