// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots for commands: selects the processes, sites, order and names. */
#include "app/shell/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/shell/wait.h"
#include "base/map64.h"
#include "report/common/amount.h"

/* ---- processes ---- */

/* If a process executed other programs, only its last image is wanted. */
static bool is_wanted(const struct snapshot_process *process, pid_t pid)
{
	return !process->replaced && (!pid || process->pid == (uint32_t)pid);
}

/* Returns true for the last of several processes with the same pid. */
static bool is_last(const struct snapshot *snapshot, size_t index)
{
	for (size_t i = index + 1; i < snapshot->process_count; i++)
		if (snapshot->processes[i].pid == snapshot->processes[index].pid &&
		    !snapshot->processes[i].replaced)
			return false;
	return true;
}

static void keep_wanted(struct snapshot *snapshot, pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < snapshot->process_count; i++)
		if (is_wanted(&snapshot->processes[i], pid) && (!pid || is_last(snapshot, i)))
			snapshot->processes[kept++] = snapshot->processes[i];
	snapshot->process_count = kept;
}

int shell_view_open(struct shell *shell, pid_t pid, struct shell_view *ret_view, struct error *err)
{
	struct snapshot *snapshot;
	int code;

	session_drain(shell->config.session);
	code = session_snapshot(shell->config.session, &snapshot, err);
	if (code)
		return code;
	for (size_t i = 0; i < snapshot->process_count; i++)
		snapshot->processes[i].backend = shell->config.session->report.backend;
	keep_wanted(snapshot, pid);
	if (pid && !snapshot->process_count) {
		snapshot_free(snapshot);
		return error_set(err, -ESRCH,
				 "process %d is not traced; proclist lists those that are",
				 (int)pid);
	}
	*ret_view =
		(struct shell_view){.snapshot = snapshot, .several = snapshot->process_count > 1};
	return 0;
}

void shell_view_close(struct shell_view *view)
{
	snapshot_free(view->snapshot);
	view->snapshot = NULL;
}

const struct snapshot_process *shell_process_in(const struct snapshot *snapshot,
						const struct snapshot_process *process)
{
	for (size_t i = 0; i < snapshot->process_count; i++) {
		const struct snapshot_process *other = &snapshot->processes[i];

		if (other->pid == process->pid && other->image == process->image &&
		    other->start_time_ns == process->start_time_ns)
			return other;
	}
	return NULL;
}

/* ---- sites ---- */

static bool is_filtered(const struct shell *shell, const struct snapshot_process *process,
			const struct snapshot_site *site, uint64_t now_ns)
{
	const struct shell_settings *settings = &shell->settings;
	uint64_t until_ns = process->exited ? process->traced_until_ns : now_ns;

	if (settings->min_bytes && site->live_bytes < settings->min_bytes)
		return true;
	return settings->older_ns &&
	       (!site->live_blocks ||
		amount_between(site->oldest_ns, until_ns) < settings->older_ns);
}

/* Sort weight. Lists rank the first site to appear highest. */
static uint64_t worth(enum sort_key sort, const struct snapshot_site *site)
{
	if (sort == SORT_TSC)
		return UINT64_MAX - site->first_seen_ns;
	return sort_key_weight(sort, site);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct site_row *left = a, *right = b;
	enum sort_key sort = *(const enum sort_key *)ctx;
	uint64_t left_worth = worth(sort, left->site);
	uint64_t right_worth = worth(sort, right->site);

	if (left_worth != right_worth)
		return left_worth < right_worth ? 1 : -1;
	if (left->process->pid != right->process->pid)
		return left->process->pid < right->process->pid ? -1 : 1;
	return (left->site->id > right->site->id) - (left->site->id < right->site->id);
}

static int index_sites(struct map64 *by_id, const struct snapshot_process *process)
{
	for (size_t i = 0; process && i < process->site_count; i++)
		if (map64_set(by_id, process->sites[i].id, (uint32_t)i))
			return -ENOMEM;
	return 0;
}

static void row_compare(struct site_row *row, const struct snapshot_process *before,
			const struct map64 *by_id)
{
	uint32_t index = before ? map64_get(by_id, row->site->id) : MAP64_NONE;
	const struct snapshot_site none = {0};
	const struct snapshot_site *old = index == MAP64_NONE ? &none : &before->sites[index];

	row->bytes = (int64_t)(row->site->live_bytes - old->live_bytes);
	row->blocks = (int64_t)(row->site->live_blocks - old->live_blocks);
	row->calls = row->site->allocations - old->allocations;
}

static int collect_process(const struct shell *shell, const struct shell_view *view,
			   const struct snapshot *before, const struct snapshot_process *process,
			   enum sort_key sort, struct shell_rows *rows)
{
	const struct snapshot_process *old = before ? shell_process_in(before, process) : NULL;
	struct map64 by_id = {0};
	int code = index_sites(&by_id, old);

	for (size_t i = 0; i < process->site_count && !code; i++) {
		struct site_row row = {.process = process, .site = &process->sites[i]};

		if (before)
			row_compare(&row, old, &by_id);
		/* hide sites with weight 0, unless they changed */
		if (!worth(sort, row.site) && !row.blocks && !row.bytes)
			continue;
		if (is_filtered(shell, process, row.site, view->snapshot->taken_ns))
			rows->hidden++;
		else
			code = vec_push(&rows->list, row);
	}
	map64_free(&by_id);
	return code;
}

void shell_rows_sort(struct shell_rows *rows, enum sort_key sort)
{
	if (rows->list.count)
		qsort_r(rows->list.items, rows->list.count, sizeof(*rows->list.items), compare_rows,
			&sort);
}

int shell_rows_collect(const struct shell *shell, const struct shell_view *view,
		       const struct snapshot *before, enum sort_key sort,
		       struct shell_rows *ret_rows, struct error *err)
{
	struct shell_rows rows = {0};
	int code = 0;

	for (size_t i = 0; i < view->snapshot->process_count && !code; i++)
		code = collect_process(shell, view, before, &view->snapshot->processes[i], sort,
				       &rows);
	if (code) {
		vec_free(&rows.list);
		return error_set(err, code, "out of memory");
	}
	shell_rows_sort(&rows, sort);
	*ret_rows = rows;
	return 0;
}

/* ---- names ---- */

/* Copies the sites of this process that are among the rows, for a partial snapshot. */
static int pick_sites(struct snapshot_process *process, const struct snapshot_process *whole,
		      const struct shell_rows *rows, size_t count)
{
	struct snapshot_site *sites = calloc(count + 1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	*process = *whole;
	process->sites = sites;
	process->site_count = process->error_count = 0;
	for (size_t i = 0; i < count; i++)
		if (rows->list.items[i].process == whole)
			sites[process->site_count++] = *rows->list.items[i].site;
	return 0;
}

static void keep_up(void *ctx)
{
	struct shell *shell = ctx;

	session_drain(shell->config.session);
}

struct report shell_report(struct shell *shell)
{
	struct report report = shell->config.session->report;

	report.keep_up = keep_up;
	report.enough = shell_is_interrupted;
	report.ctx = shell;
	return report;
}

/* Names are stored in the stacks, which the partial snapshot shares with the whole one. */
int shell_rows_name(struct shell *shell, const struct shell_view *view,
		    const struct shell_rows *rows, size_t count, struct error *err)
{
	const struct snapshot *whole = view->snapshot;
	struct snapshot picture = *whole;
	struct report report = shell_report(shell);
	int code = 0;

	picture.processes = calloc(whole->process_count + 1, sizeof(*picture.processes));
	picture.process_count = 0;
	if (!picture.processes)
		return error_set(err, -ENOMEM, "out of memory");
	for (; picture.process_count < whole->process_count && !code; picture.process_count++)
		code = pick_sites(&picture.processes[picture.process_count],
				  &whole->processes[picture.process_count], rows, count);
	if (!code)
		code = report_name(&report, &picture, 0);
	for (size_t i = 0; i < picture.process_count; i++)
		free(picture.processes[i].sites);
	free(picture.processes);
	return code ? error_set(err, code, "out of memory") : 0;
}

size_t shell_rows_shown(const struct shell *shell, const struct shell_rows *rows)
{
	size_t top = shell->settings.top;

	return top && rows->list.count > top ? top : rows->list.count;
}

void shell_rows_note(struct shell *shell, struct page *page, const struct shell_rows *rows,
		     size_t shown)
{
	char text[AMOUNT_SIZE], note[2 * AMOUNT_SIZE];

	(void)shell;
	if (rows->list.count > shown) {
		snprintf(note, sizeof(note), "%s: \"set top 0\" shows all",
			 amount_of(rows->list.count - shown, "more site", text));
		page_to(page, 2);
		page_sentence(page, STYLE_QUIET, 2, note);
	}
	if (rows->hidden) {
		snprintf(note, sizeof(note), "%s hidden by \"set min\" or \"set older\"",
			 amount_of(rows->hidden, "site", text));
		page_to(page, 2);
		page_sentence(page, STYLE_QUIET, 2, note);
	}
}
