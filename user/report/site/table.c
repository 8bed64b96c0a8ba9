// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/site/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/frame.h"
#include "report/common/page.h"
#include "report/common/process.h"
#include "report/common/name.h"
#include "report/common/suspect_words.h"
#include "report/common/table.h"

#define CALLER_COLUMNS 28

const char *site_name(const struct snapshot_process *process, const struct snapshot_site *site,
		      bool several, char text[SITE_NAME_SIZE])
{
	if (several)
		snprintf(text, SITE_NAME_SIZE, "%" PRIu32 ":%" PRIu32, process->pid, site->id);
	else
		snprintf(text, SITE_NAME_SIZE, "%" PRIu32, site->id);
	return text;
}

enum column {
	COLUMN_SITE,
	COLUMN_BYTES,
	COLUMN_CHANGE,
	COLUMN_BLOCKS,
	COLUMN_BLOCK_CHANGE,
	COLUMN_KEY, /* the value of the sort key */
	COLUMN_CALLS,
	COLUMN_OLDEST,
	COLUMN_API,
	COLUMN_FUNCTION,
	COLUMN_SOURCE,
	COLUMN_CALLER,
	COLUMN_COUNT,
};

static const struct table_column plain_columns[COLUMN_COUNT] = {
	[COLUMN_SITE] = {.title = "site", .right = true, .rank = TABLE_KEEP},
	[COLUMN_BYTES] = {.title = "live", .right = true, .rank = TABLE_KEEP},
	[COLUMN_CHANGE] = {.title = "change", .right = true, .rank = 1},
	[COLUMN_BLOCKS] = {.title = "blocks", .right = true, .rank = 3},
	[COLUMN_BLOCK_CHANGE] = {.title = "change", .right = true, .rank = 6},
	[COLUMN_KEY] = {.title = "", .right = true, .rank = 2},
	[COLUMN_CALLS] = {.title = "calls", .right = true, .rank = 5},
	[COLUMN_OLDEST] = {.title = "oldest", .right = true, .rank = 7},
	[COLUMN_API] = {.title = "by", .rank = 9},
	[COLUMN_FUNCTION] = {.title = "where", .flexible = true, .rank = TABLE_KEEP},
	[COLUMN_SOURCE] = {.title = "", .rank = 4},
	[COLUMN_CALLER] = {.title = "called by", .rank = 8},
};

/* ---- sort key values that no other column shows ---- */

static const char *key_calls(const struct snapshot_site *site, char text[UNITS_TEXT_SIZE])
{
	return count_format(site->allocations, text);
}

static const char *key_total(const struct snapshot_site *site, char text[UNITS_TEXT_SIZE])
{
	return bytes_format(site->bytes_allocated, text);
}

static const char *key_average(const struct snapshot_site *site, char text[UNITS_TEXT_SIZE])
{
	uint64_t calls = site->allocations;

	return bytes_format(calls ? site->bytes_allocated / calls : 0, text);
}

static const char *key_leaks(const struct snapshot_site *site, char text[UNITS_TEXT_SIZE])
{
	return count_format(site->leaks.classes[LEAK_DEFINITE].blocks, text);
}

static const char *key_leaked(const struct snapshot_site *site, char text[UNITS_TEXT_SIZE])
{
	return bytes_format(snapshot_leaked(site->leaks.classes).bytes, text);
}

static const char *key_mismatched(const struct snapshot_site *site, char text[UNITS_TEXT_SIZE])
{
	return count_format(site->mismatched, text);
}

static const char *key_bad_frees(const struct snapshot_site *site, char text[UNITS_TEXT_SIZE])
{
	return count_format(site->bad_frees, text);
}

static const char *key_growth(const struct snapshot_site *site, char text[UNITS_TEXT_SIZE])
{
	char rate[RATE_SIZE];

	snprintf(text, UNITS_TEXT_SIZE, "%.20s",
		 site->growth.grows ? growth_rate(site->growth.slope, rate) : "");
	return text;
}

static const struct {
	const char *title;
	const char *(*value)(const struct snapshot_site *site, char text[UNITS_TEXT_SIZE]);
} keys[SORT_COUNT] = {
	[SORT_ALLOCATIONS] = {"calls", key_calls},
	[SORT_TOTAL] = {"total", key_total},
	[SORT_AVERAGE] = {"average", key_average},
	[SORT_LEAKS] = {"leaks", key_leaks},
	[SORT_BYTES_LEAKED] = {"lost", key_leaked},
	[SORT_MISMATCHED] = {"mismatched", key_mismatched},
	[SORT_BADFREE] = {"double", key_bad_frees},
	[SORT_GROWTH] = {"growth", key_growth},
};

/* Calls have their own column, unless that column shows the rate. */
static bool has_key(const struct site_table_options *look, uint64_t interval_ns)
{
	return keys[look->sort].value && !look->leaks &&
	       (look->sort != SORT_ALLOCATIONS || interval_ns);
}

/* ---- cells ---- */

static void put_bytes_change(struct table *table, const struct site_row *row)
{
	char text[UNITS_TEXT_SIZE];

	if (row->bytes > 0)
		table_cell(table, STYLE_WARNING, "+%s", bytes_format((uint64_t)row->bytes, text));
	else if (row->bytes < 0)
		table_cell(table, STYLE_PLAIN, "-%s", bytes_format(-(uint64_t)row->bytes, text));
	else
		table_empty(table);
}

static void put_blocks_change(struct table *table, const struct site_row *row)
{
	char text[UNITS_TEXT_SIZE];

	if (row->blocks > 0)
		table_cell(table, STYLE_PLAIN, "+%s", count_format((uint64_t)row->blocks, text));
	else if (row->blocks < 0)
		table_cell(table, STYLE_PLAIN, "-%s", count_format(-(uint64_t)row->blocks, text));
	else
		table_empty(table);
}

static void put_calls(struct table *table, const struct site_row *row)
{
	char text[UNITS_TEXT_SIZE];
	double rate;

	if (!row->interval_ns) {
		table_text(table, STYLE_PLAIN, count_format(row->site->allocations, text));
		return;
	}
	rate = (double)row->calls * 1e9 / (double)row->interval_ns;
	if (!row->calls)
		table_empty(table);
	else if (rate < 10)
		table_cell(table, STYLE_PLAIN, "%.1f", rate);
	else
		table_text(table, STYLE_PLAIN, count_format((uint64_t)(rate + 0.5), text));
}

static void put_oldest(struct table *table, const struct site_row *row,
		       const struct site_table_options *look)
{
	uint64_t until_ns = row->process->exited ? row->process->traced_until_ns : look->now_ns;
	char text[AMOUNT_SIZE];

	if (!row->site->live_blocks || !row->site->oldest_ns) {
		table_empty(table);
		return;
	}
	table_text(table, STYLE_QUIET,
		   amount_duration(amount_between(row->site->oldest_ns, until_ns),
				   table->page->utf8, text));
}

/* The next outer frame that has a name and is a different function. */
static const struct snapshot_frame *caller_of(const struct snapshot_stack *stack,
					      const struct snapshot_frame *culprit)
{
	for (const struct snapshot_frame *frame = culprit + 1;
	     frame < stack->frames + stack->frame_count; frame++)
		if (frame->function && *frame->function &&
		    (!culprit->function || strcmp(frame->function, culprit->function)))
			return frame;
	return NULL;
}

static void put_caller(struct table *table, const struct site_row *row,
		       const struct snapshot_frame *culprit)
{
	const struct snapshot_frame *caller = NULL;
	char label[FRAME_LABEL_SIZE], *name;

	if (culprit)
		caller = caller_of(site_stack(row->process, row->site), culprit);
	name = caller ? name_fit(frame_label(caller, label), CALLER_COLUMNS, table->page->utf8)
		      : NULL;
	table_text(table, STYLE_QUIET, name ? name : "");
	free(name);
}

static void put_where(struct table *table, const struct site_row *row)
{
	const struct snapshot_frame *culprit = stack_culprit(site_stack(row->process, row->site));
	char label[FRAME_LABEL_SIZE];
	const char *source;

	if (!culprit) {
		table_text(table, STYLE_QUIET, row->site->other ? "all other sites" : "(no stack)");
		table_empty(table);
		table_empty(table);
		return;
	}
	table_text(table, STYLE_STRONG, frame_label(culprit, label));
	source = frame_source(culprit, label);
	if (!*source && culprit->function && culprit->module)
		source = name_base(culprit->module);
	table_text(table, STYLE_QUIET, source);
	put_caller(table, row, culprit);
}

static void put_name(struct table *table, const struct site_row *row,
		     const struct site_table_options *look)
{
	char name[SITE_NAME_SIZE];

	if (!look->programs)
		table_text(table, STYLE_PLAIN,
			   site_name(row->process, row->site, look->several, name));
	else if (look->several)
		table_text(table, STYLE_PLAIN, process_name(row->process));
	else
		table_empty(table);
}

static void put_row(struct table *table, const struct site_row *row,
		    const struct site_table_options *look)
{
	struct snapshot_sum sum = {row->site->live_blocks, row->site->live_bytes};
	char text[UNITS_TEXT_SIZE];

	if (look->leaks)
		sum = snapshot_leaked(row->site->leaks.classes);
	put_name(table, row, look);
	table_text(table, STYLE_STRONG, bytes_format(sum.bytes, text));
	put_bytes_change(table, row);
	table_text(table, STYLE_PLAIN, count_format(sum.blocks, text));
	put_blocks_change(table, row);
	if (has_key(look, row->interval_ns))
		table_text(table, STYLE_PLAIN, keys[look->sort].value(row->site, text));
	else
		table_empty(table);
	put_calls(table, row);
	put_oldest(table, row, look);
	table_text(table, STYLE_QUIET, api_name(row->site->api));
	put_where(table, row);
}

void site_table_write(struct page *page, const struct site_row *rows, size_t count,
		      const struct site_table_options *look)
{
	struct table_column columns[COLUMN_COUNT];
	struct table table;

	for (size_t i = 0; i < COLUMN_COUNT; i++)
		columns[i] = plain_columns[i];
	if (look->programs)
		columns[COLUMN_SITE] = (struct table_column){.title = "in", .rank = TABLE_KEEP};
	if (look->leaks)
		columns[COLUMN_BYTES].title = "lost";
	if (keys[look->sort].title)
		columns[COLUMN_KEY].title = keys[look->sort].title;
	if (count && rows[0].interval_ns)
		columns[COLUMN_CALLS].title = "calls/s";
	table_open(&table, page, columns, COLUMN_COUNT);
	for (size_t i = 0; i < count; i++)
		put_row(&table, &rows[i], look);
	table_close(&table);
}
