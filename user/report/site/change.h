/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How sites changed between two snapshots: grew, new, shrank, gone. */
#ifndef MTRACE_REPORT_SITE_CHANGE_H
#define MTRACE_REPORT_SITE_CHANGE_H

#include "report/site/table.h"

/* One list: its title, and which rows belong in it. */
struct site_change {
	const char *title;
	bool (*has)(const struct site_row *row);
};

#define SITE_CHANGES 4
extern const struct site_change site_changes[SITE_CHANGES];

/* For qsort of rows: by the absolute change in live bytes. */
int site_change_compare(const void *a, const void *b);

/* "Grew · 2 sites" */
void site_change_heading(struct page *page, const struct site_change *change, size_t count);
/* "Since NAME · 10 m ago · +4.0 KiB live" */
void site_change_title(struct page *page, const char *since, uint64_t ns, int64_t live);

#endif
