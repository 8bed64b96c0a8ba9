/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sampling left out, and what tracing cost. */
#ifndef MTRACE_REPORT_TEXT_SAMPLING_H
#define MTRACE_REPORT_TEXT_SAMPLING_H

#include "report/text/view.h"

/* With --sample: says that numbers are estimates, how good they are, and what was left out by size.
 */
void text_sampling(const struct view *view);
/* With --max-overhead: says how much time tracing took, and what was done about it. */
void text_overhead(struct page *page, const struct snapshot *snapshot);

#endif
