/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All details of a single site. */
#ifndef MTRACE_REPORT_SITE_CARD_H
#define MTRACE_REPORT_SITE_CARD_H

#include <stdbool.h>

#include "model/snapshot/snapshot.h"
#include "report/common/page.h"
#include "report/site/table.h"

/* Writes everything that is known about one site, and its stack. */
void site_card_write(struct page *page, const struct snapshot_process *process,
		     const struct snapshot_site *site, const struct site_table_options *look,
		     bool long_frames);

#endif
