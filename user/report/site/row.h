/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A site's line, aligned with its neighbours: "  1.  40.4 KiB   86.5%  in 203 blocks from calloc".
 */
#ifndef MTRACE_REPORT_SITE_ROW_H
#define MTRACE_REPORT_SITE_ROW_H

#include "model/snapshot/snapshot.h"
#include "report/common/page.h"

#define STACK_INDENT 8 /* of the lines below it */

struct row_columns {
	size_t rank, bytes, blocks, noun;
};

struct row {
	size_t rank;
	struct snapshot_sum sum;
	uint64_t whole; /* total bytes, for the site's percentage */
	const char *noun;
	enum api api;
};

/* Widens the columns so that the row fits. */
void row_measure(struct row_columns *columns, const struct page *page, const struct row *row);
void row_write(struct page *page, const struct row_columns *columns, const struct row *row);

/* A sentence about the list. */
void row_note(struct page *page, const char *note);

#endif
