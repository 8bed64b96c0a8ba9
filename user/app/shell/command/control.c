// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands that act on the trace: scan, stop, start, reset, quit. */
#include "app/shell/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/shell/arguments.h"
#include "app/shell/output.h"
#include "app/shell/state.h"
#include "app/shell/view.h"
#include "app/shell/wait.h"
#include "base/units.h"
#include "os/process/proc.h"
#include "report/common/amount.h"
#include "report/common/page.h"
#include "report/common/process.h"

#define LINE_SIZE 256

/* ---- scan ---- */

enum scan_show { SHOW_ALL, SHOW_NEW, SHOW_LEAK, SHOW_COUNT };

static const char *const show_names[] = {"all", "new", "leak", NULL};

static const char *show_name(size_t index)
{
	return show_names[index];
}

static struct snapshot_sum lost_of(const struct snapshot_site *site)
{
	return snapshot_leaked(site->leaks.classes);
}

static const struct snapshot_site *site_in(const struct snapshot *snapshot,
					   const struct site_row *row)
{
	const struct snapshot_process *process = shell_process_in(snapshot, row->process);

	for (size_t i = 0; process && i < process->site_count; i++)
		if (process->sites[i].id == row->site->id)
			return &process->sites[i];
	return NULL;
}

/* Changes in leaked memory since the previous scan. */
static void compare_scans(struct site_row *row, const struct snapshot *before)
{
	const struct snapshot_site *old = site_in(before, row);
	struct snapshot_sum now = lost_of(row->site), then = {0};

	if (old)
		then = lost_of(old);
	row->bytes = (int64_t)(now.bytes - then.bytes);
	row->blocks = (int64_t)(now.blocks - then.blocks);
}

static bool is_shown(const struct site_row *row, enum scan_show show)
{
	uint64_t blocks = lost_of(row->site).blocks;
	bool had_some = (int64_t)blocks != row->blocks;

	if (show == SHOW_LEAK)
		return had_some;
	return blocks && (show == SHOW_ALL || row->blocks > 0);
}

static int collect_process(const struct snapshot_process *process, const struct snapshot *before,
			   enum scan_show show, struct shell_rows *rows)
{
	for (size_t i = 0; i < process->site_count; i++) {
		struct site_row row = {.process = process, .site = &process->sites[i]};

		compare_scans(&row, before);
		if (is_shown(&row, show) && vec_push(&rows->list, row))
			return -ENOMEM;
	}
	return 0;
}

static int compare_leaked(const void *a, const void *b)
{
	const struct site_row *left = a, *right = b;
	uint64_t left_bytes = lost_of(left->site).bytes, right_bytes = lost_of(right->site).bytes;

	if (left_bytes != right_bytes)
		return left_bytes < right_bytes ? 1 : -1;
	return (left->site->id > right->site->id) - (left->site->id < right->site->id);
}

/* Classes to list besides definite leaks. */
static const struct {
	enum leak_class leak;
	const char *words;
} others[] = {
	{LEAK_INDIRECT, "indirectly leaked"},
	{LEAK_POSSIBLE, "possibly leaked"},
	{LEAK_UNKNOWN, "perhaps leaked"},
	{LEAK_STACK, "referenced only from a stack"},
};

static void write_sum(struct page *page, const struct snapshot_process *process)
{
	const struct snapshot_scan *scan = &process->scan;
	const struct snapshot_sum *definite = &scan->classes[LEAK_DEFINITE];
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);
	char bytes[UNITS_TEXT_SIZE], text[AMOUNT_SIZE], item[LINE_SIZE];

	page_name(page, STYLE_STRONG, process_name(process), NAME_COLUMNS);
	page_format(page, STYLE_PLAIN, " (%u)", process->pid);
	if (!scan->done) {
		page_item(page, STYLE_WARNING, 0, separator,
			  scan->reason ? scan->reason : "not scanned");
		page_end(page);
		return;
	}
	if (definite->blocks)
		snprintf(item, sizeof(item), "%s, %s definitely leaked",
			 amount_of(definite->blocks, "leak", text),
			 bytes_format(definite->bytes, bytes));
	else
		snprintf(item, sizeof(item), "%s",
			 snapshot_is_clean(scan->classes) ? "no leaks" : "no definite leaks");
	page_item(page, definite->blocks ? STYLE_WARNING : STYLE_PLAIN, 0, separator, item);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct snapshot_sum *sum = &scan->classes[others[i].leak];

		snprintf(item, sizeof(item), "%s %s", bytes_format(sum->bytes, bytes),
			 others[i].words);
		if (sum->blocks)
			page_item(page, STYLE_PLAIN, 0, separator, item);
	}
	snprintf(item, sizeof(item), "scanned %s in %s", bytes_format(scan->bytes_scanned, bytes),
		 amount_duration(scan->duration_ns, page->utf8, text));
	page_item(page, STYLE_QUIET, 0, separator, item);
	snprintf(item, sizeof(item), "paused for %s",
		 amount_duration(scan->pause_ns, page->utf8, text));
	page_item(page, STYLE_QUIET, 0, separator, item);
	page_end(page);
}

static int write_rows(struct shell *shell, const struct shell_view *view,
		      const struct shell_rows *rows, struct page *page, struct error *err)
{
	const struct site_table_options look = {.now_ns = view->snapshot->taken_ns,
						.several = view->several,
						.changes = true,
						.leaks = true};
	size_t shown = shell_rows_shown(shell, rows);
	int code = shell_rows_name(shell, view, rows, shown, err);

	if (code || !rows->list.count)
		return code;
	page_end(page);
	site_table_write(page, rows->list.items, shown, &look);
	shell_rows_note(shell, page, rows, shown);
	return 0;
}

/* Suppressed leaks do not count here either. */
static int apply_suppressions(const struct shell *shell, const struct shell_view *view,
			      struct error *err)
{
	int code = shell->options->suppressions
			   ? report_prepare(&shell->config.session->report, view->snapshot)
			   : 0;

	return code ? error_set_errno(err, code, "cannot look for suppressions") : 0;
}

static int show_scan(struct shell *shell, const struct shell_view *before, pid_t pid,
		     enum scan_show show, struct error *err)
{
	struct page page = shell_page(shell);
	struct shell_rows rows = {0};
	struct shell_view view;
	int code = shell_view_open(shell, pid, &view, err);

	if (code)
		return code;
	code = apply_suppressions(shell, &view, err);
	for (size_t i = 0; i < view.snapshot->process_count && !code; i++) {
		const struct snapshot_process *process = &view.snapshot->processes[i];

		if (!process->exited || process->scan.done)
			write_sum(&page, process);
		if (collect_process(process, before->snapshot, show, &rows))
			code = error_set(err, -ENOMEM, "out of memory");
	}
	if (rows.list.count)
		qsort(rows.list.items, rows.list.count, sizeof(*rows.list.items), compare_leaked);
	if (!code)
		code = write_rows(shell, &view, &rows, &page, err);
	vec_free(&rows.list);
	shell_view_close(&view);
	return code;
}

static int scan(struct shell *shell, pid_t pid, struct error *err)
{
	const struct scan_order order = {.pid = pid,
					 .live = !shell->settings.scan_stop,
					 .given_up = shell_is_interrupted,
					 .ctx = shell};
	struct session *session = shell->config.session;
	size_t scans = 0;
	int code;

	code = session->remote_state ? session->remote_state->scan(session, &order, &scans, err)
				     : scanner_scan(shell->config.scanner, &order, &scans, err);
	if (code == -ECANCELED)
		return error_set(err, code,
				 "the scan was interrupted; the previous result is kept");
	if (!code && !scans)
		return error_set(err, -ESRCH, "no process left to scan");
	return scans ? 0 : code;
}

int shell_do_scan(struct shell *shell, char *const *words, struct error *err)
{
	struct shell_choice choice;
	struct shell_view before;
	int show = SHOW_ALL, code;

	if (words[0] && strspn(words[0], "0123456789") != strlen(words[0])) {
		show = shell_name_find("kind of scan", words[0], show_name, err);
		if (show < 0)
			return show;
		words++;
	}
	code = shell_choose(shell, words, SHELL_TAKES_PID, &choice, err);
	if (!code)
		code = shell_view_open(shell, choice.pid, &before, err);
	if (code)
		return code;
	code = apply_suppressions(shell, &before, err);
	if (!code)
		code = scan(shell, choice.pid, err);
	if (!code)
		code = show_scan(shell, &before, choice.pid, (enum scan_show)show, err);
	shell_view_close(&before);
	return code;
}

/* ---- stop, start, reset ---- */

/* Applies to one process or all of them, and says how many. */
static int for_each(struct shell *shell, pid_t pid, int (*act)(struct shell *shell, uint32_t pid),
		    const char *what, struct error *err)
{
	char text[AMOUNT_SIZE];
	uint32_t *pids;
	size_t count, done = 0;
	int code = model_pids(shell->config.session->model, &pids, &count);

	if (code)
		return error_set(err, code, "out of memory");
	for (size_t i = 0; i < count && !code; i++) {
		if (pid && pids[i] != (uint32_t)pid)
			continue;
		code = act(shell, pids[i]);
		done++;
	}
	free(pids);
	if (code)
		return error_set_errno(err, code, "cannot change all processes");
	if (pid && !done)
		return error_set(err, -ESRCH, "process %d is not traced", (int)pid);
	if (shell->terminal)
		shell_print(shell, "%s: %s", amount_of(done, "process", text), what);
	return 0;
}

static int stop_one(struct shell *shell, uint32_t pid)
{
	return model_pause(shell->config.session->model, pid, true);
}

static int start_one(struct shell *shell, uint32_t pid)
{
	return model_pause(shell->config.session->model, pid, false);
}

static int reset_one(struct shell *shell, uint32_t pid)
{
	return model_reset(shell->config.session->model, pid, clock_now_ns());
}

static int control(struct shell *shell, char *const *words,
		   int (*act)(struct shell *shell, uint32_t pid), const char *what,
		   struct error *err)
{
	struct shell_choice choice;
	int code = shell_choose(shell, words, SHELL_TAKES_PID, &choice, err);

	if (code)
		return code;
	/* earlier events must not be affected by the command */
	session_drain(shell->config.session);
	if (!choice.pid && act != reset_one)
		model_pause_all(shell->config.session->model, act == stop_one);
	return for_each(shell, choice.pid, act, what, err);
}

int shell_do_stop(struct shell *shell, char *const *words, struct error *err)
{
	return control(shell, words, stop_one, "new allocations are no longer counted", err);
}

int shell_do_start(struct shell *shell, char *const *words, struct error *err)
{
	return control(shell, words, start_one, "new allocations are counted", err);
}

int shell_do_reset(struct shell *shell, char *const *words, struct error *err)
{
	int code = control(shell, words, reset_one, "totals set to zero", err);

	if (!code)
		shell_marks_forget(shell);
	return code;
}

int shell_do_quit(struct shell *shell, char *const *words, struct error *err)
{
	int code = shell_no_words(words, err);

	if (code)
		return code;
	shell->ended = true;
	shell->config.quit(shell->config.ctx);
	return 0;
}
