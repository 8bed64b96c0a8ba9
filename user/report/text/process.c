/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's heading and totals. */
#include "report/text/process.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/page.h"
#include "report/common/process.h"
#include "report/text/stacks.h"
#include "report/text/view.h"

#define LABEL_COLUMNS 12
#define COMMAND_SIZE  1024

bool process_has_events(const struct snapshot_process *process)
{
	return process->totals.allocations || process->totals.frees ||
	       process->totals.failed_allocations || process->mappings.maps ||
	       process->internal.frees || process->internal.munmaps || process->site_count;
}

static void write_origin(struct page *page, const struct snapshot_process *process)
{
	/* behind_pid follows the parent's pid; NULL: no pid. */
	static const struct {
		const char *words, *behind_pid;
	} origins[ORIGIN_COUNT] = {
		[ORIGIN_ATTACHED] = {"attached to ", NULL},
		[ORIGIN_LAUNCHED] = {"launched as ", NULL},
		[ORIGIN_FORKED] = {"forked by ", ", running "},
		[ORIGIN_EXEC] = {"started by ", " as "},
	};
	const char *behind = origins[process->origin].behind_pid;

	page_text(page, STYLE_QUIET, origins[process->origin].words);
	if (behind)
		page_format(page, STYLE_QUIET, "%u%s", process->ppid, behind);
}

/* "launched as ./prog -v": the command line, or else the executable. */
static void write_command(const struct view *view)
{
	const struct snapshot_process *process = view->process;
	char command[COMMAND_SIZE] = "";
	size_t used = 0;

	for (const char **word = process->command; word && *word && used < sizeof(command); word++)
		used += (size_t)snprintf(command + used, sizeof(command) - used, "%s%s",
					 used ? " " : "", *word);
	if (!used && process->exe)
		snprintf(command, sizeof(command), "%s", process->exe);
	if (!*command)
		return;
	if (process->image)
		page_text(view->page, STYLE_QUIET, "became ");
	else
		write_origin(view->page, process);
	page_name(view->page, STYLE_QUIET, command, view->page->width - view->page->column);
	page_end(view->page);
}

#define ID_DIGITS       64
#define ID_DIGITS_SHORT 12 /* as container runtimes show it */

/* An id is shortened; a name is shown in full. */
static void write_container(struct page *page, const char *separator, const char *container)
{
	bool is_id = strlen(container) == ID_DIGITS;
	char text[ID_DIGITS];

	snprintf(text, sizeof(text), "%.*s", is_id ? ID_DIGITS_SHORT : ID_DIGITS - 1, container);
	page_item(page, STYLE_QUIET, 0, separator, "container ");
	page_name(page, STYLE_QUIET, text, NAME_COLUMNS);
}

/*
 * "pid 12 inside its namespace · container 3f9ab2c4d5e6". Nothing for a process in our namespace.
 */
static void write_place(const struct view *view)
{
	const struct snapshot_process *process = view->process;
	struct page *page = view->page;
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);
	char text[AMOUNT_SIZE];

	if (process->inner_pid) {
		snprintf(text, sizeof(text), "pid %u inside its namespace", process->inner_pid);
		page_item(page, STYLE_QUIET, 0, separator, text);
	}
	if (process->container)
		write_container(page, separator, process->container);
	if (process->cgroup && view->options->verbose) {
		page_item(page, STYLE_QUIET, 0, separator, "cgroup ");
		page_name(page, STYLE_QUIET, process->cgroup, page->width);
	}
	if (page->column)
		page_end(page);
}

void text_heading(const struct view *view)
{
	const struct snapshot_process *process = view->process;
	struct page *page = view->page;
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);
	uint64_t traced = amount_between(process->traced_since_ns, process->traced_until_ns);
	char text[AMOUNT_SIZE], item[AMOUNT_SIZE * 2];

	page_name(page, STYLE_STRONG, process_name(process), NAME_COLUMNS);
	page_format(page, STYLE_STRONG, " (%u)", process->pid);
	page_item(page, fate_is_bad(process) ? STYLE_WARNING : STYLE_PLAIN, TEXT_INDENT, separator,
		  fate_of(process, text));
	snprintf(item, sizeof(item), "traced for %s%s%s", amount_duration(traced, page->utf8, text),
		 process->backend ? " with " : "", process->backend ? process->backend : "");
	page_item(page, STYLE_PLAIN, TEXT_INDENT, separator, item);
	page_end(page);
	page_rule(page);
	write_command(view);
	write_place(view);
	page_end(page);
}

#define ROWS_MAX (9 + LEAK_CLASS_COUNT + 1)

/* "still live   120 blocks   1.2 MiB   peak 3.4 MiB" */
struct total_row {
	const char *label;
	uint64_t count;
	const char *noun;
	bool has_bytes;
	uint64_t bytes;
	char note[AMOUNT_SIZE];
};

struct total_rows {
	struct total_row rows[ROWS_MAX];
	size_t count;
};

static struct total_row *totals_add(struct total_rows *totals, const char *label, uint64_t count,
				    const char *noun)
{
	struct total_row *row = &totals->rows[totals->count++];

	*row = (struct total_row){.label = label, .count = count, .noun = noun};
	return row;
}

static void totals_add_bytes(struct total_rows *totals, const char *label, uint64_t count,
			     const char *noun, uint64_t bytes)
{
	struct total_row *row = totals_add(totals, label, count, noun);

	row->has_bytes = true;
	row->bytes = bytes;
}

static void totals_add_rare(struct total_rows *totals, const char *label, uint64_t count,
			    const char *noun, const char *note)
{
	if (count)
		snprintf(totals_add(totals, label, count, noun)->note, AMOUNT_SIZE, "%s", note);
}

/* Without stacks, sites are distinguished by their callers. */
static void totals_add_stacks(struct total_rows *totals, const struct snapshot_process *process)
{
	struct stack_quality quality;
	char verdict[AMOUNT_SIZE];
	const char *noun;

	if (!process->stack_count)
		return;
	snapshot_quality(process, &quality);
	noun = quality.by_reason[STOP_NOT_TAKEN] == quality.stacks ? "place" : "stack";
	totals_add_rare(totals, "distinct", quality.stacks, noun,
			stacks_verdict(process, &quality, verdict));
}

struct class_row {
	enum leak_class leak;
	bool always;
	const char *note;
	bool listed_by_v; /* its sites are listed only with -v or on demand */
};

#define LISTED_BY_V "; -v lists them"

static const struct class_row class_rows[] = {
	{LEAK_DEFINITE, true, "leaked: no pointer found", false},
	{LEAK_INDIRECT, false, "leaked: referenced only by leaked blocks", false},
	{LEAK_POSSIBLE, false, "only interior pointers found", true},
	{LEAK_STACK, false, "referenced only from a stack: may be a stale pointer", true},
	{LEAK_UNKNOWN, false, "leaked, unless unread memory points to it", false},
	{LEAK_REACHABLE, false, "still referenced", false},
};

static void totals_add_sum(struct total_rows *totals, const char *label,
			   const struct snapshot_sum *sum, const char *note, const char *hint)
{
	totals_add_bytes(totals, label, sum->blocks, "block", sum->bytes);
	snprintf(totals->rows[totals->count - 1].note, AMOUNT_SIZE, "%s%s", note, hint);
}

static const char *class_note(const struct class_row *row, const struct snapshot_scan *scan)
{
	if (row->leak == LEAK_POSSIBLE && scan->tagged)
		return "interior or tagged pointers";
	return row->note;
}

/* How the scan classified the live blocks. */
static void totals_add_classes(struct total_rows *totals, const struct snapshot_scan *scan,
			       const struct format_options *options)
{
	const char *hint = options->verbose ? "" : LISTED_BY_V;

	for (size_t i = 0; scan->done && i < sizeof(class_rows) / sizeof(class_rows[0]); i++) {
		const struct class_row *row = &class_rows[i];
		const struct snapshot_sum *sum = &scan->classes[row->leak];
		bool hidden = row->listed_by_v && !(options->listed & LEAK_BIT(row->leak));

		if (row->always || sum->blocks)
			totals_add_sum(totals, leak_class_words(row->leak), sum,
				       class_note(row, scan), hidden ? hint : "");
	}
	if (scan->done && scan->suppressed.blocks)
		totals_add_sum(totals, "suppressed", &scan->suppressed, "hidden by suppressions",
			       hint);
}

static void totals_collect(struct total_rows *totals, const struct snapshot_process *process,
			   const struct format_options *options)
{
	char peak[UNITS_TEXT_SIZE];

	totals_add_bytes(totals, "still live", process->live.blocks, "block", process->live.bytes);
	snprintf(totals->rows[0].note, AMOUNT_SIZE, "peak %s",
		 bytes_format(process->totals.peak_live_bytes, peak));
	totals_add_classes(totals, &process->scan, options);
	if (process->inherited.blocks)
		totals_add_sum(totals, "inherited", &process->inherited,
			       "live in the parent when it forked", "");
	totals_add_bytes(totals, "allocated", process->totals.allocations, "block",
			 process->totals.bytes_allocated);
	totals_add_bytes(totals, "freed", process->totals.frees, "block",
			 process->totals.bytes_freed);
	totals_add_rare(totals, "failed", process->totals.failed_allocations, "call", "");
	if (process->mappings.maps)
		totals_add_bytes(totals, "mapped", process->mappings.maps, "region",
				 process->mappings.bytes);
	totals_add_rare(totals, "internal", process->internal.frees, "free",
			"by the allocator itself");
	totals_add_rare(totals, "internal", process->internal.munmaps, "munmap",
			"by the allocator itself");
	totals_add_stacks(totals, process);
}

struct total_columns {
	size_t count, noun, bytes;
};

static struct total_columns totals_columns(const struct total_rows *totals, const struct page *page)
{
	struct total_columns columns = {0};
	char text[AMOUNT_SIZE];

	for (size_t i = 0; i < totals->count; i++) {
		const struct total_row *row = &totals->rows[i];
		size_t count = page_columns(page, count_format(row->count, text));
		size_t noun = page_columns(page, amount_noun(row->count, row->noun, text));
		size_t bytes = page_columns(page, bytes_format(row->bytes, text));

		columns.count = columns.count < count ? count : columns.count;
		columns.noun = columns.noun < noun ? noun : columns.noun;
		columns.bytes = columns.bytes < bytes ? bytes : columns.bytes;
	}
	return columns;
}

static void total_row_write(struct page *page, const struct total_row *row,
			    const struct total_columns *columns, enum style style)
{
	size_t count_at = TEXT_INDENT + LABEL_COLUMNS;
	size_t bytes_at = count_at + columns->count + 1 + columns->noun + 2;
	size_t note_at = bytes_at + columns->bytes + 2;
	char text[AMOUNT_SIZE];

	page_to(page, TEXT_INDENT);
	page_text(page, style, row->label);
	page_to(page, count_at);
	page_right(page, style, columns->count, count_format(row->count, text));
	page_to(page, page->column + 1);
	page_text(page, style, amount_noun(row->count, row->noun, text));
	if (row->has_bytes) {
		page_to(page, bytes_at);
		page_right(page, style, columns->bytes, bytes_format(row->bytes, text));
	}
	if (*row->note) {
		page_to(page, row->has_bytes ? note_at : bytes_at);
		page_item(page, STYLE_QUIET, count_at, "", row->note);
	}
	page_end(page);
}

void text_totals(const struct view *view)
{
	struct total_rows totals = {.count = 0};
	struct total_columns columns;

	totals_collect(&totals, view->process, view->options);
	columns = totals_columns(&totals, view->page);
	for (size_t i = 0; i < totals.count; i++)
		total_row_write(view->page, &totals.rows[i], &columns,
				i ? STYLE_PLAIN : STYLE_STRONG);
}
