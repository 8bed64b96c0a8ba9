/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a leak scan found, as JSON. All keys are there without a scan too, so readers need not ask.
 */
#ifndef MTRACE_REPORT_JSON_LEAKS_H
#define MTRACE_REPORT_JSON_LEAKS_H

#include "model/snapshot/snapshot.h"
#include "report/json/writer.h"

/* A process's "scan". */
void json_put_scan(struct json_writer *writer, const struct snapshot_scan *scan);
/* Its sums by class, as members. */
void json_put_classes(struct json_writer *writer, const struct snapshot_scan *scan);
/* Members of a site. */
void json_put_leaks(struct json_writer *writer, const struct snapshot_leaks *leaks);

#endif
