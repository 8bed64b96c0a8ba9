/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What --sanity found, as the JSON report has it. */
#ifndef MTRACE_SINK_JSON_ERRORS_H
#define MTRACE_SINK_JSON_ERRORS_H

#include "model/snapshot.h"
#include "sink/json_writer.h"

/* "sanity" and "errors" of a process. */
void json_put_errors(struct json_writer *writer, const struct snapshot_process *process);

#endif
