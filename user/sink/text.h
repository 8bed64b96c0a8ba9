/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the text report. Each writes whole lines. */
#ifndef MTRACE_SINK_TEXT_H
#define MTRACE_SINK_TEXT_H

#include "model/snapshot.h"
#include "sink/page.h"
#include "sink/sink.h"

#define TEXT_INDENT 2

/* One process image, and what it is shown with. */
struct view {
	struct page *page;
	const struct snapshot *snapshot;
	const struct snapshot_process *process;
	const struct sink_options *options;
};

/* Name, fate and command of the process. */
void text_heading(const struct view *view);
/* The totals. */
void text_totals(const struct view *view);
/* What was not seen, or that nothing was missed. */
void text_losses(const struct view *view);
/* The sites of one family with their stacks, under a title; nothing if there are none. */
void text_sites(const struct view *view, enum api_family family);

/* What the process is called. */
const char *process_name(const struct snapshot_process *process);
#define NAME_COLUMNS 40 /* that reports grant it */

/* Did the process do anything that was booked? */
bool process_has_events(const struct snapshot_process *process);

#endif
