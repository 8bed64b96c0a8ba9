/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How sites grow, and how long their blocks live, as JSON. */
#ifndef MTRACE_REPORT_JSON_GROWTH_H
#define MTRACE_REPORT_JSON_GROWTH_H

#include "model/snapshot/snapshot.h"
#include "report/json/writer.h"

/* Members of a site: its "growth", "lifetimes", "series". */
void json_put_growth(struct json_writer *writer, const struct snapshot_process *process,
		     const struct snapshot_site *site);
/* A process's "suspects", the worst first. */
void json_put_suspects(struct json_writer *writer, const struct snapshot_process *process);

#endif
