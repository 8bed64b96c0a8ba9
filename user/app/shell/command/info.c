// SPDX-License-Identifier: GPL-2.0-or-later
/* The processes and the state of the trace. */
#include "app/shell/commands.h"

#include <stdlib.h>

#include "app/shell/arguments.h"
#include "app/shell/output.h"
#include "app/shell/state.h"
#include "app/shell/view.h"
#include "base/units.h"
#include "os/process/proc.h"
#include "report/common/amount.h"
#include "report/common/page.h"
#include "report/common/process.h"
#include "report/common/table.h"

static enum style fate_style(const struct snapshot_process *process)
{
	if (process->paused && !process->exited)
		return STYLE_WARNING;
	return fate_is_bad(process) ? STYLE_WARNING : STYLE_PLAIN;
}

static const char *state_of(const struct snapshot_process *process, char text[AMOUNT_SIZE])
{
	if (process->exited || process->left || process->replaced)
		return fate_of(process, text);
	return process->paused ? "stopped" : "traced";
}

static void put_command(struct table *table, const struct snapshot_process *process)
{
	char command[256] = "";
	size_t used = 0;

	for (const char **word = process->command; word && *word && used < sizeof(command); word++)
		used += (size_t)snprintf(command + used, sizeof(command) - used, "%s%s",
					 used ? " " : "", *word);
	table_text(table, STYLE_QUIET, used ? command : process->exe ? process->exe : "");
}

/* ---- status ---- */

static const struct table_column status_columns[] = {
	{.title = "pid", .right = true},
	{.title = "name", .flexible = true},
	{.title = "state", .rank = 2},
	{.title = "live", .right = true},
	{.title = "blocks", .right = true, .rank = 3},
	{.title = "peak", .right = true, .rank = 6},
	{.title = "allocations", .right = true, .rank = 4},
	{.title = "average", .right = true, .rank = 8},
	{.title = "leaks", .right = true, .rank = 1},
	{.title = "lost", .right = true, .rank = 2},
	{.title = "unseen", .right = true, .rank = 1},
};

static uint64_t unseen_of(const struct snapshot_process *process)
{
	const struct snapshot_losses *losses = &process->losses;

	return losses->events + losses->missed_returns + losses->unprobed_sites + losses->children +
	       losses->no_allocator + losses->collisions;
}

static void put_leaks(struct table *table, const struct snapshot_process *process)
{
	const struct snapshot_sum *definite = &process->scan.classes[LEAK_DEFINITE];
	char text[UNITS_TEXT_SIZE];

	if (!process->scan.done) {
		table_empty(table);
		table_empty(table);
		return;
	}
	table_text(table, definite->blocks ? STYLE_WARNING : STYLE_PLAIN,
		   count_format(definite->blocks, text));
	table_text(table, definite->blocks ? STYLE_WARNING : STYLE_PLAIN,
		   bytes_format(snapshot_leaked(process->scan.classes).bytes, text));
}

static void put_status(struct table *table, const struct snapshot_process *process)
{
	uint64_t calls = process->totals.allocations;
	char text[AMOUNT_SIZE];

	table_cell(table, STYLE_PLAIN, "%u", process->pid);
	table_text(table, STYLE_STRONG, process_name(process));
	table_text(table, fate_style(process), state_of(process, text));
	table_text(table, STYLE_STRONG, bytes_format(process->live.bytes, text));
	table_text(table, STYLE_PLAIN, count_format(process->live.blocks, text));
	table_text(table, STYLE_PLAIN, bytes_format(process->totals.peak_live_bytes, text));
	table_text(table, STYLE_PLAIN, count_format(calls, text));
	table_text(table, STYLE_PLAIN,
		   bytes_format(calls ? process->totals.bytes_allocated / calls : 0, text));
	put_leaks(table, process);
	if (unseen_of(process))
		table_text(table, STYLE_WARNING, count_format(unseen_of(process), text));
	else
		table_empty(table);
}

/* Notes on what the columns do not show. */
static void put_notes(struct page *page, const struct snapshot *snapshot)
{
	uint64_t unseen = 0, unaccounted = 0;
	char text[AMOUNT_SIZE];

	for (size_t i = 0; i < snapshot->process_count; i++) {
		unseen += unseen_of(&snapshot->processes[i]);
		unaccounted += snapshot->processes[i].unaccounted;
	}
	if (unaccounted) {
		page_to(page, TEXT_INDENT);
		page_format(page, STYLE_QUIET, "%s while stopped: not counted",
			    amount_of(unaccounted, "allocation", text));
		page_end(page);
	}
	if (unseen) {
		page_to(page, TEXT_INDENT);
		page_text(page, STYLE_WARNING, "events were dropped: dump has the details");
		page_end(page);
	}
}

int shell_do_status(struct shell *shell, char *const *words, struct error *err)
{
	struct page page = shell_page(shell);
	struct shell_choice choice;
	struct shell_view view;
	struct table table;
	int code = shell_choose(shell, words, SHELL_TAKES_PID, &choice, err);

	if (!code)
		code = shell_view_open(shell, choice.pid, &view, err);
	if (code)
		return code;
	table_open(&table, &page, status_columns,
		   sizeof(status_columns) / sizeof(status_columns[0]));
	for (size_t i = 0; i < view.snapshot->process_count; i++)
		put_status(&table, &view.snapshot->processes[i]);
	table_close(&table);
	put_notes(&page, view.snapshot);
	shell_view_close(&view);
	return 0;
}

/* ---- proclist ---- */

static const struct table_column process_columns[] = {
	{.title = "pid", .right = true},
	{.title = "parent", .right = true, .rank = 5},
	{.title = "name"},
	{.title = "state", .rank = 2},
	{.title = "for", .right = true, .rank = 4},
	{.title = "command", .flexible = true, .rank = 3},
};

static void put_process(struct table *table, const struct snapshot_process *process)
{
	uint64_t ns = amount_between(process->traced_since_ns, process->traced_until_ns);
	char text[AMOUNT_SIZE];

	table_cell(table, STYLE_PLAIN, "%u", process->pid);
	table_cell(table, STYLE_QUIET, "%u", process->ppid);
	table_text(table, STYLE_STRONG, process_name(process));
	table_text(table, fate_style(process), state_of(process, text));
	table_text(table, STYLE_PLAIN, amount_duration(ns, table->page->utf8, text));
	put_command(table, process);
}

int shell_do_proclist(struct shell *shell, char *const *words, struct error *err)
{
	struct page page = shell_page(shell);
	struct shell_view view;
	struct table table;
	int code = shell_no_words(words, err);

	if (!code)
		code = shell_view_open(shell, 0, &view, err);
	if (code)
		return code;
	table_open(&table, &page, process_columns,
		   sizeof(process_columns) / sizeof(process_columns[0]));
	for (size_t i = 0; i < view.snapshot->process_count; i++)
		put_process(&table, &view.snapshot->processes[i]);
	table_close(&table);
	shell_view_close(&view);
	return 0;
}
