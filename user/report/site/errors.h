/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invalid frees found by --sanity. */
#ifndef MTRACE_REPORT_SITE_ERRORS_H
#define MTRACE_REPORT_SITE_ERRORS_H

#include "report/text/view.h"

/* Writes invalid frees with their stacks; nothing if there are none. */
void text_errors(const struct view *view);
/*
 * Summarizes them in a sentence, with the frees that could not be checked; nothing without
 * --sanity.
 */
void text_sanity(const struct view *view);
/* Writes "2 errors; " with --sanity. */
void text_error_summary(const struct view *view);

#endif
