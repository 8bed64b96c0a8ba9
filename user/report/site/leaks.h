/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of leaks. */
#ifndef MTRACE_REPORT_SITE_LEAKS_H
#define MTRACE_REPORT_SITE_LEAKS_H

#include "report/text/view.h"

/*
 * Writes the sites with leaks and their stacks, sorted by leaked bytes; with -v also sites with
 * possible leaks. Writes nothing if there are none.
 */
void text_leaks(const struct view *view);
/* With -v: says how much each suppression excused. */
void text_suppressed(const struct view *view);
/* The site with the most leaked bytes, among those with direct leaks; NULL if there is none. */
const struct snapshot_site *worst_leak(const struct snapshot_process *process);

#endif
