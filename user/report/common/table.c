// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/common/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define INDENT         2
#define GAP            2
#define CELL_SIZE      1024
#define FLEXIBLE_LEAST 8
#define FLEXIBLE_FAIR  24 /* drop other columns before it gets less than this */

/* The width of each column; 0: left out. */
struct table_layout {
	size_t width[TABLE_COLUMNS_MAX];
	size_t flexible; /* index of the flexible column, or the column count if there is none */
};

void table_open(struct table *table, struct page *page, const struct table_column *columns,
		size_t count)
{
	*table = (struct table){.page = page, .columns = columns, .count = count};
}

void table_text(struct table *table, enum style style, const char *text)
{
	struct table_cell cell = {.text = *text ? strdup(text) : NULL, .style = style};

	if (*text && !cell.text)
		out_fail(&table->page->out, -ENOMEM);
	if (vec_push(&table->cells, cell)) {
		out_fail(&table->page->out, -ENOMEM);
		free(cell.text);
	}
}

void table_cell(struct table *table, enum style style, const char *format, ...)
{
	char text[CELL_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	table_text(table, style, text);
}

void table_empty(struct table *table)
{
	table_text(table, STYLE_PLAIN, "");
}

static struct table_layout layout_wanted(const struct table *table)
{
	struct table_layout layout = {.flexible = table->count};
	size_t columns;

	for (size_t i = 0; i < table->cells.count; i++) {
		const struct table_cell *cell = &table->cells.items[i];

		columns = cell->text ? page_columns(table->page, cell->text) : 0;
		if (layout.width[i % table->count] < columns)
			layout.width[i % table->count] = columns;
	}
	for (size_t i = 0; i < table->count; i++) {
		const char *title = table->columns[i].title;

		columns = title ? page_columns(table->page, title) : 0;
		if (layout.width[i] && layout.width[i] < columns)
			layout.width[i] = columns;
		if (table->columns[i].flexible && layout.width[i])
			layout.flexible = i;
	}
	return layout;
}

static size_t layout_total(const struct table *table, const struct table_layout *layout)
{
	size_t total = INDENT, shown = 0;

	for (size_t i = 0; i < table->count; i++) {
		total += layout->width[i];
		shown += layout->width[i] != 0;
	}
	return total + (shown ? (shown - 1) * GAP : 0);
}

/* How much the flexible column can shrink. */
static size_t layout_spare(const struct table *table, const struct table_layout *layout,
			   size_t least)
{
	size_t width = layout->flexible < table->count ? layout->width[layout->flexible] : 0;

	return width > least ? width - least : 0;
}

/* The least important column, or the column count if all remaining ones must stay. */
static size_t layout_least(const struct table *table, const struct table_layout *layout)
{
	size_t least = table->count;

	for (size_t i = 0; i < table->count; i++)
		if (layout->width[i] && table->columns[i].rank != TABLE_KEEP &&
		    (least == table->count || table->columns[i].rank > table->columns[least].rank))
			least = i;
	return least;
}

static struct table_layout layout_of(const struct table *table)
{
	struct table_layout layout = layout_wanted(table);
	size_t total, least, spare;

	while ((total = layout_total(table, &layout)) > table->page->width) {
		least = layout_least(table, &layout);
		if (total - layout_spare(table, &layout, FLEXIBLE_FAIR) <= table->page->width ||
		    least == table->count)
			break;
		layout.width[least] = 0;
		if (least == layout.flexible)
			layout.flexible = table->count;
	}
	spare = layout_spare(table, &layout, FLEXIBLE_LEAST);
	if (total > table->page->width && spare)
		layout.width[layout.flexible] -=
			total - table->page->width < spare ? total - table->page->width : spare;
	return layout;
}

static void write_cell(const struct table *table, const struct table_layout *layout, size_t column,
		       const char *text, enum style style)
{
	struct page *page = table->page;

	if (column == layout->flexible)
		page_name(page, style, text, layout->width[column]);
	else if (table->columns[column].right)
		page_right(page, style, layout->width[column], text);
	else
		page_text(page, style, text);
}

/* A row of cells, or of titles if cells is NULL. */
static void write_row(const struct table *table, const struct table_layout *layout,
		      const struct table_cell *cells)
{
	size_t at = INDENT;

	for (size_t i = 0; i < table->count; i++) {
		const char *text = cells ? cells[i].text : table->columns[i].title;

		if (!layout->width[i])
			continue;
		page_to(table->page, at);
		if (text)
			write_cell(table, layout, i, text, cells ? cells[i].style : STYLE_QUIET);
		at += layout->width[i] + GAP;
	}
	page_end(table->page);
}

static void table_free(struct table *table)
{
	struct table_cell *cell;

	vec_each (cell, &table->cells)
		free(cell->text);
	vec_free(&table->cells);
}

void table_close(struct table *table)
{
	struct table_layout layout = layout_of(table);

	if (table->columns[0].title && table->cells.count)
		write_row(table, &layout, NULL);
	for (size_t row = 0; row + table->count <= table->cells.count; row += table->count)
		write_row(table, &layout, &table->cells.items[row]);
	table_free(table);
}
