/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growth and block lifetimes of sites, as JSON. */
#ifndef MTRACE_REPORT_JSON_GROWTH_H
#define MTRACE_REPORT_JSON_GROWTH_H

#include "model/snapshot/snapshot.h"
#include "report/json/writer.h"

/* Writes the members "growth", "lifetimes" and "series" of a site. */
void json_put_growth(struct json_writer *writer, const struct snapshot_process *process,
		     const struct snapshot_site *site);
/* Writes a process's "suspects", the worst first. */
void json_put_suspects(struct json_writer *writer, const struct snapshot_process *process);

#endif
