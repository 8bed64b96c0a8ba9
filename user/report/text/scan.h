/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leak scans in the text report. */
#ifndef MTRACE_REPORT_TEXT_SCAN_H
#define MTRACE_REPORT_TEXT_SCAN_H

#include "report/text/view.h"

/* Says how the process was scanned and what the scan could not see, or why there was no scan. */
void text_scan(const struct view *view);
/*
 * Writes "3 leaks, 96 B definitely leaked", "no leaks", or "no definite leaks" if there are others.
 * If calls are missing, says that there are none among those that were traced.
 */
void text_leaks_definite(struct page *page, const struct snapshot_sum classes[LEAK_CLASS_COUNT],
			 bool misses_calls);
/* Writes ", 40 B indirectly, 748 B possibly" for the classes that have blocks. */
void text_leaks_others(struct page *page, const struct snapshot_sum classes[LEAK_CLASS_COUNT]);
/* Writes "3 leaks, 96 B definitely leaked at 2 sites, 40 B indirectly; " if there was a scan. */
void text_leak_summary(const struct view *view);

#endif
