/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of processes: those with a section, in the order of the sections, and a sum of all
 * others. With hundreds of processes, most have little to report.
 */
#include "report/text/sections.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/page.h"
#include "report/common/process.h"

#define NAME_LEAST 8

static int compare_sections(const void *a, const void *b)
{
	const struct snapshot_process *const *left = a, *const *right = b;
	int order = snapshot_compare(*right, *left);

	return order ? order : (*left > *right) - (*left < *right);
}

int sections_choose(struct sections *ret_sections, const struct snapshot *snapshot, uint32_t top)
{
	struct sections sections = {.count = snapshot->process_count, .rest = snapshot->others};

	sections.shown = calloc(sections.count + 1, sizeof(*sections.shown));
	if (!sections.shown)
		return -ENOMEM;
	for (size_t i = 0; i < sections.count; i++)
		sections.shown[i] = &snapshot->processes[i];
	qsort(sections.shown, sections.count, sizeof(*sections.shown), compare_sections);
	while (top && sections.count > top)
		snapshot_others_add(&sections.rest, sections.shown[--sections.count]);
	*ret_sections = sections;
	return 0;
}

void sections_free(struct sections *sections)
{
	free(sections->shown);
}

enum column {
	COLUMN_PID,
	COLUMN_LOST,
	COLUMN_LIVE,
	COLUMN_INHERITED,
	COLUMN_BLOCKS,
	COLUMN_CALLS,
	COLUMN_COUNT
};

static const char *const titles[COLUMN_COUNT] = {
	[COLUMN_PID] = "pid",       [COLUMN_LOST] = "leaked",
	[COLUMN_LIVE] = "live",     [COLUMN_INHERITED] = "inherited",
	[COLUMN_BLOCKS] = "blocks", [COLUMN_CALLS] = "allocations",
};

struct section_cells {
	char text[COLUMN_COUNT][AMOUNT_SIZE];
};

/* The columns for leaked and inherited memory appear only if there is any. */
struct section_table {
	struct page *page;
	bool scanned, inherited;
	size_t width[COLUMN_COUNT];
};

static struct section_cells cells_of(const struct snapshot_process *process, bool scanned)
{
	struct section_cells cells = {0};

	if (process->pid)
		snprintf(cells.text[COLUMN_PID], AMOUNT_SIZE, "%u", process->pid);
	if (scanned)
		bytes_format(snapshot_leaked(process->scan.classes).bytes, cells.text[COLUMN_LOST]);
	else
		snprintf(cells.text[COLUMN_LOST], AMOUNT_SIZE, "?");
	bytes_format(process->live.bytes, cells.text[COLUMN_LIVE]);
	bytes_format(process->inherited.bytes, cells.text[COLUMN_INHERITED]);
	count_format(process->live.blocks, cells.text[COLUMN_BLOCKS]);
	count_format(process->totals.allocations, cells.text[COLUMN_CALLS]);
	return cells;
}

static struct section_cells cells_of_titles(void)
{
	struct section_cells cells;

	for (int i = 0; i < COLUMN_COUNT; i++)
		snprintf(cells.text[i], AMOUNT_SIZE, "%s", titles[i]);
	return cells;
}

static struct section_cells cells_of_rest(const struct snapshot_others *rest)
{
	return cells_of(&rest->sums, rest->scanned);
}

static void table_widen(struct section_table *table, const struct section_cells *cells)
{
	for (int i = 0; i < COLUMN_COUNT; i++) {
		size_t columns = page_columns(table->page, cells->text[i]);

		table->width[i] = table->width[i] < columns ? columns : table->width[i];
	}
}

static struct section_table table_of(struct page *page, const struct sections *sections)
{
	struct section_table table = {.page = page,
				      .scanned = sections->rest.scanned,
				      .inherited = sections->rest.sums.inherited.bytes};
	struct section_cells cells = cells_of_titles();

	table_widen(&table, &cells);
	cells = cells_of_rest(&sections->rest);
	if (sections->rest.sections)
		table_widen(&table, &cells);
	for (size_t i = 0; i < sections->count; i++) {
		const struct snapshot_process *process = sections->shown[i];

		table.scanned |= process->scan.done;
		table.inherited |= process->inherited.bytes != 0;
		cells = cells_of(process, process->scan.done);
		table_widen(&table, &cells);
	}
	return table;
}

static bool has_column(const struct section_table *table, int column)
{
	return (column != COLUMN_LOST || table->scanned) &&
	       (column != COLUMN_INHERITED || table->inherited);
}

static void write_cells(const struct section_table *table, const struct section_cells *cells,
			enum style style)
{
	page_to(table->page, TEXT_INDENT);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (!has_column(table, i))
			continue;
		page_right(table->page, style, table->width[i], cells->text[i]);
		page_to(table->page, table->page->column + 2);
	}
}

static void write_titles(const struct section_table *table)
{
	struct section_cells cells = cells_of_titles();

	write_cells(table, &cells, STYLE_QUIET);
	page_text(table->page, STYLE_QUIET, "command");
	page_end(table->page);
}

/* Says how the process ended, if there is room. "running" is not shown. */
static void write_row(const struct section_table *table, const struct snapshot_process *process)
{
	struct section_cells cells = cells_of(process, process->scan.done);
	struct page *page = table->page;
	char text[AMOUNT_SIZE], fate[AMOUNT_SIZE * 2];
	size_t room;

	write_cells(table, &cells, STYLE_PLAIN);
	room = page->width > page->column + NAME_LEAST ? page->width - page->column : NAME_LEAST;
	page_name(page, STYLE_STRONG, process_name(process),
		  room < NAME_COLUMNS ? room : NAME_COLUMNS);
	snprintf(fate, sizeof(fate), "%s%s", page_symbol(page, SYMBOL_SEPARATOR),
		 fate_of(process, text));
	if ((process->exited || process->replaced || process->left) &&
	    page->column + page_columns(page, fate) <= page->width)
		page_text(page, fate_is_bad(process) ? STYLE_WARNING : STYLE_QUIET, fate);
	page_end(page);
}

static void write_rest(const struct section_table *table, const struct snapshot_others *rest)
{
	struct section_cells cells = cells_of_rest(rest);
	char text[AMOUNT_SIZE];

	if (!rest->sections)
		return;
	write_cells(table, &cells, STYLE_PLAIN);
	page_item(table->page, STYLE_QUIET, TEXT_INDENT, "",
		  amount_of(rest->sections, "other", text));
	page_end(table->page);
}

/* How many of the rest a larger --top would show, and how many are gone. */
static void write_omissions(struct page *page, const struct sections *sections,
			    const struct snapshot *snapshot)
{
	uint64_t gone = snapshot->others.sections,
		 hidden = snapshot->process_count - sections->count;
	char amount[AMOUNT_SIZE], note[AMOUNT_SIZE * 3];

	if (hidden) {
		snprintf(note, sizeof(note), "%s not shown: --top 0 shows all",
			 amount_of(hidden, "process", amount));
		page_to(page, TEXT_INDENT);
		page_sentence(page, STYLE_QUIET, TEXT_INDENT, note);
	}
	if (gone) {
		snprintf(note, sizeof(note), "%s %s kept only as a sum",
			 amount_of(gone, "exited process", amount), gone == 1 ? "was" : "were");
		page_to(page, TEXT_INDENT);
		page_sentence(page, STYLE_QUIET, TEXT_INDENT, note);
	}
}

static const char *order_of(const struct section_table *table, bool worst_last)
{
	if (table->scanned)
		return worst_last ? "sorted by leaked bytes, worst last" : "sorted by leaked bytes";
	if (table->inherited)
		return worst_last ? "sorted by non-inherited live bytes, worst last"
				  : "sorted by non-inherited live bytes";
	return worst_last ? "sorted by live bytes, worst last" : "sorted by live bytes";
}

static void write_title(const struct section_table *table, const struct sections *sections,
			const struct snapshot *snapshot, bool worst_last)
{
	struct page *page = table->page;
	uint64_t all = snapshot->process_count + snapshot->others.sections;
	char number[UNITS_TEXT_SIZE], of[UNITS_TEXT_SIZE], text[AMOUNT_SIZE];
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);

	page_text(page, STYLE_STRONG, "Processes");
	if (all > sections->count)
		snprintf(text, sizeof(text), "%s of %s", count_format(sections->count, number),
			 count_format(all, of));
	else
		count_format(all, text);
	page_item(page, STYLE_QUIET, TEXT_INDENT, separator, text);
	page_item(page, STYLE_QUIET, TEXT_INDENT, separator, order_of(table, worst_last));
	page_end(page);
	page_end(page);
}

void text_sections(struct page *page, const struct sections *sections,
		   const struct snapshot *snapshot, const struct format_options *options)
{
	struct section_table table = table_of(page, sections);

	write_title(&table, sections, snapshot, options->worst_last);
	if (options->worst_last) {
		write_omissions(page, sections, snapshot);
		if (sections->rest.sections)
			page_end(page);
		write_titles(&table);
		write_rest(&table, &sections->rest);
		for (size_t i = sections->count; i > 0; i--)
			write_row(&table, sections->shown[i - 1]);
		return;
	}
	write_titles(&table);
	for (size_t i = 0; i < sections->count; i++)
		write_row(&table, sections->shown[i]);
	write_rest(&table, &sections->rest);
	if (sections->rest.sections)
		page_end(page);
	write_omissions(page, sections, snapshot);
}
