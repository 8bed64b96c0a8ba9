/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites that changed most since the last report of the same trace. */
#ifndef MTRACE_REPORT_SITE_CHANGES_H
#define MTRACE_REPORT_SITE_CHANGES_H

#include "report/text/view.h"

/* Lists sites that grew, appeared, shrank or disappeared; writes nothing in the first report. */
void text_changes(const struct view *view);

#endif
