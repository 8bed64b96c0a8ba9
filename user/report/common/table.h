/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table on a page. It is as wide as its cells, but no wider than the page: columns without any
 * text are left out, then the least important ones until the rest fits. One column may be
 * shortened.
 */
#ifndef MTRACE_REPORT_COMMON_TABLE_H
#define MTRACE_REPORT_COMMON_TABLE_H

#include "base/vec.h"
#include "report/common/page.h"

#define TABLE_COLUMNS_MAX 16
#define TABLE_KEEP        0 /* rank of a column that is never left out */

struct table_column {
	const char *title; /* NULL in all columns: no title row */
	bool right;        /* right-aligned */
	bool flexible;     /* holds names that may be shortened; at most one column */
	unsigned int rank; /* columns with the highest rank are left out first */
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

/* The columns must outlive the table. */
void table_open(struct table *table, struct page *page, const struct table_column *columns,
		size_t count);
/* Adds the next cell. */
void table_cell(struct table *table, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void table_text(struct table *table, enum style style, const char *text);
void table_empty(struct table *table);
/* Writes and frees the table. Ignores an incomplete last row. */
void table_close(struct table *table);

#endif
