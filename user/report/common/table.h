/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table on a page. It is as wide as its cells, and no wider than the page: columns whose cells
 * are all empty are left out, then those that matter least, until the rest fits; one column may be
 * shortened.
 */
#ifndef MTRACE_REPORT_COMMON_TABLE_H
#define MTRACE_REPORT_COMMON_TABLE_H

#include "base/vec.h"
#include "report/common/page.h"

#define TABLE_COLUMNS_MAX 16
#define TABLE_KEEP        0 /* a column of this rank stays */

struct table_column {
	const char *title; /* NULL in all columns: no line of titles */
	bool right;        /* aligned */
	bool flexible;     /* holds names that may be shortened; one column at most */
	unsigned int rank; /* the highest goes first where there is no room */
};

struct table_cell {
	char *text; /* NULL: empty */
	enum style style;
};

struct table {
	struct page *page;
	const struct table_column *columns;
	size_t count;
	VEC(struct table_cell) cells; /* row by row */
};

/* The columns outlive the table. */
void table_open(struct table *table, struct page *page, const struct table_column *columns,
		size_t count);
/* The next cell. */
void table_cell(struct table *table, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void table_text(struct table *table, enum style style, const char *text);
void table_empty(struct table *table);
/* Write it, and free it. Only whole rows. */
void table_close(struct table *table);

#endif
