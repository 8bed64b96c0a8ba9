/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's heading and totals. */
#ifndef MTRACE_REPORT_TEXT_PROCESS_H
#define MTRACE_REPORT_TEXT_PROCESS_H

#include <stdbool.h>

#include "report/text/view.h"

/* Returns true if the model has any event of the process. */
bool process_has_events(const struct snapshot_process *process);

/* Writes the process's name, how it ended, and its command. */
void text_heading(const struct view *view);
/* Writes the totals. */
void text_totals(const struct view *view);

#endif
