/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the process was scanned for leaks. */
#ifndef MTRACE_REPORT_TEXT_SCAN_H
#define MTRACE_REPORT_TEXT_SCAN_H

#include "report/text/view.h"

/* Says how the process was scanned and what the scan could not see, or why there was no scan. */
void text_scan(const struct view *view);
/* Writes "3 leaks, 96 B definitely lost at 2 sites, 40 B indirectly; " if there was a scan. */
void text_leak_summary(const struct view *view);

#endif
