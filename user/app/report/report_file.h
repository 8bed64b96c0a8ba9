/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report that was written as JSON, read back. */
#ifndef MTRACE_APP_REPORT_REPORT_FILE_H
#define MTRACE_APP_REPORT_REPORT_FILE_H

#include "base/error.h"
#include "model/snapshot/snapshot.h"

/*
 * Processes with their sums, sites and stacks; of a site what it allocated, what lives of it and
 * what was definitely lost. The caller frees it. 0, or -errno with words: it cannot be read, or is
 * no report.
 */
int report_file_read(struct snapshot **ret_snapshot, const char *path, struct error *err);

#endif
