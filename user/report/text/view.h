/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input of each part of a text report. */
#ifndef MTRACE_REPORT_TEXT_VIEW_H
#define MTRACE_REPORT_TEXT_VIEW_H

#include "model/snapshot/snapshot.h"
#include "report/common/page.h"
#include "report/format.h"

/* One process image, and how to show it. Borrows everything. */
struct view {
	struct page *page;
	const struct snapshot *snapshot;
	const struct snapshot_process *process;
	const struct format_options *options;
};

#endif
