/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of suspects: sites that grow. */
#ifndef MTRACE_REPORT_SITE_SUSPECTS_H
#define MTRACE_REPORT_SITE_SUSPECTS_H

#include <stdbool.h>

#include "model/snapshot/snapshot.h"
#include "report/common/page.h"

/* Writes the suspects of a process under a heading; nothing if it has none. */
void suspects_write(struct page *page, const struct snapshot_process *process, bool worst_last,
		    bool ids);

#endif
