/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The results of a leak scan, as JSON. All keys are present even without a scan. */
#ifndef MTRACE_REPORT_JSON_LEAKS_H
#define MTRACE_REPORT_JSON_LEAKS_H

#include "model/snapshot/snapshot.h"
#include "report/json/writer.h"

/* Writes a process's "scan". */
void json_put_scan(struct json_writer *writer, const struct snapshot_scan *scan);
/* Writes its sums by class as members. */
void json_put_classes(struct json_writer *writer, const struct snapshot_scan *scan);
/* Writes the members of a site. */
void json_put_leaks(struct json_writer *writer, const struct snapshot_leaks *leaks);

#endif
