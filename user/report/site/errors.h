/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wrong releases, found with --sanity. */
#ifndef MTRACE_REPORT_SITE_ERRORS_H
#define MTRACE_REPORT_SITE_ERRORS_H

#include "report/text/view.h"

/* Writes wrong releases with their stacks; nothing if there are none. */
void text_errors(const struct view *view);
/* Says the same in a sentence, and what could not be judged; nothing without --sanity. */
void text_sanity(const struct view *view);
/* Writes "2 errors; " with --sanity. */
void text_error_summary(const struct view *view);

#endif
