/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sampling left out, and what tracing cost. */
#ifndef MTRACE_REPORT_TEXT_SAMPLING_H
#define MTRACE_REPORT_TEXT_SAMPLING_H

#include "report/text/view.h"

/*
 * With --sample: says that numbers are estimates and how accurate they are. With a size filter:
 * says what was left out.
 */
void text_sampling(const struct view *view);
/* With --max-overhead: reports the time spent on tracing, and how sampling was adjusted. */
void text_overhead(struct page *page, const struct snapshot *snapshot);
/* Says what was left out to stay within --max-memory. */
void text_limit(struct page *page, const struct snapshot *snapshot);

#endif
