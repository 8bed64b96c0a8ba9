/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the text report. Each writes whole lines. */
#ifndef MTRACE_REPORT_TEXT_TEXT_H
#define MTRACE_REPORT_TEXT_TEXT_H

#include "model/snapshot/snapshot.h"
#include "report/common/amount.h"
#include "report/common/page.h"
#include "report/sink.h"

#define TEXT_INDENT 2

/* One process image, and what it is shown with. */
struct view {
	struct page *page;
	const struct snapshot *snapshot;
	const struct snapshot_process *process;
	const struct sink_options *options;
};

/*
 * Of several sections, which the report shows and in which order: those that matter most (see
 * snapshot_compare), the worst first.
 */
struct sections {
	const struct snapshot_process **shown;
	size_t count;
	struct snapshot_others
		rest; /* what is not shown, those summed up in the snapshot included */
};

/* `top` as for sites; 0: all. 0 or -ENOMEM. Free with sections_free. */
int sections_choose(struct sections *ret_sections, const struct snapshot *snapshot, uint32_t top);
void sections_free(struct sections *sections);
/* A line for each section, and one for the rest. */
void text_sections(struct page *page, const struct sections *sections,
		   const struct snapshot *snapshot, const struct sink_options *options);

/* What became of the process: "running", "exited with status 1". May be written into text. */
const char *fate_of(const struct snapshot_process *process, char text[AMOUNT_SIZE]);
bool fate_is_bad(const struct snapshot_process *process);

/* Name, fate and command of the process. */
void text_heading(const struct view *view);
/* What grew, came, shrank and went since the last report; nothing if this is the first. */
void text_changes(const struct view *view);
/* The totals. */
void text_totals(const struct view *view);
/* With --sample: that they are estimates, and how good; what was left out by its size. */
void text_sampling(const struct view *view);
/* With --max-overhead: what tracing took, and what was done about it. */
void text_overhead(struct page *page, const struct snapshot *snapshot);
/* What was not seen, or that nothing was missed. */
void text_losses(const struct view *view);
/* One thing that was not seen, as a sentence. */
void text_loss(struct page *page, const char *sentence);
/* Why stacks end early, and what can be done; returns whether any does. */
bool text_cut_stacks(const struct view *view);
/* How complete the stacks are: "all complete". Text may hold it. */
const char *stacks_verdict(const struct snapshot_process *process,
			   const struct stack_quality *quality, char text[AMOUNT_SIZE]);
/* The sites of one family with their stacks, under a title; nothing if there are none. */
void text_sites(const struct view *view, enum api_family family);

/*
 * The sites with leaks, those that lost most first, and their stacks; with -v also those whose
 * blocks are possibly lost. Nothing if there are none.
 */
void text_leaks(const struct view *view);
/* With --sanity: wrong releases with their stacks; nothing if there are none. */
void text_errors(const struct view *view);
/* The same in a sentence, and what could not be judged; nothing without --sanity. */
void text_sanity(const struct view *view);
/* "2 errors; " with --sanity */
void text_error_summary(const struct view *view);
/* With -v: which suppressions excused how much. */
void text_suppressed(const struct view *view);
/* How it was scanned for leaks, and what that could not see; or why it was not. */
void text_scan(const struct view *view);
/* "3 leaks, 96 B definitely lost at 2 sites, 40 B indirectly; " if it was scanned */
void text_leak_summary(const struct view *view);
/* The site that lost most, among those with leaks of their own; NULL if there is none. */
const struct snapshot_site *worst_leak(const struct snapshot_process *process);

/* What the process is called. */
const char *process_name(const struct snapshot_process *process);
#define NAME_COLUMNS 40 /* that reports grant it */

/* Did the process do anything that was booked? */
bool process_has_events(const struct snapshot_process *process);

#endif
