/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of sites from one snapshot to a later one: what grew, came, shrank and went. */
#ifndef MTRACE_REPORT_SITE_CHANGE_H
#define MTRACE_REPORT_SITE_CHANGE_H

#include "report/site/table.h"

/* A list of rows: which, under which title. */
struct site_change {
	const char *title;
	bool (*has)(const struct site_row *row);
};

#define SITE_CHANGES 4
extern const struct site_change site_changes[SITE_CHANGES];

/* For qsort, of rows: by how many bytes live more or less, whatever it is. */
int site_change_compare(const void *a, const void *b);

/* "Grew · 2 sites" */
void site_change_heading(struct page *page, const struct site_change *change, size_t count);
/* "Since NAME · 10 m ago · +4.0 KiB live" */
void site_change_title(struct page *page, const char *since, uint64_t ns, int64_t live);

#endif
