/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The errors found by --sanity, as JSON. */
#ifndef MTRACE_REPORT_JSON_ERRORS_H
#define MTRACE_REPORT_JSON_ERRORS_H

#include "model/snapshot/snapshot.h"
#include "report/json/writer.h"

/* Writes "sanity" and "errors" of a process. */
void json_put_errors(struct json_writer *writer, const struct snapshot_process *process);

#endif
