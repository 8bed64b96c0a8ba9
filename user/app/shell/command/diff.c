// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Marks, and what changed since. A mark is a snapshot. Site ids identify the same site in both
 * snapshots as long as the process runs the same program and its model is not reset.
 */
#include "app/shell/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/shell/arguments.h"
#include "app/shell/output.h"
#include "app/shell/state.h"
#include "app/shell/view.h"
#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/page.h"
#include "report/common/process.h"
#include "report/site/change.h"

#define DEFAULT_NAME "mark"
#define MARKS_MAX    16

static void mark_free(struct shell_mark *mark)
{
	free(mark->name);
	snapshot_free(mark->snapshot);
}

void shell_marks_forget(struct shell *shell)
{
	struct shell_mark *mark;

	vec_each (mark, &shell->marks)
		mark_free(mark);
	vec_free(&shell->marks);
}

static void mark_drop(struct shell *shell, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < shell->marks.count; i++) {
		struct shell_mark mark = shell->marks.items[i];

		if (strcmp(mark.name, name))
			shell->marks.items[kept++] = mark;
		else
			mark_free(&mark);
	}
	shell->marks.count = kept;
}

int shell_do_mark(struct shell *shell, char *const *words, struct error *err)
{
	struct shell_mark mark = {0};
	char text[AMOUNT_SIZE];
	struct shell_view view;
	const char *name;
	int code = shell_one_word(words, "name", &name, err);

	if (code)
		return code;
	name = name ? name : DEFAULT_NAME;
	mark_drop(shell, name);
	if (shell->marks.count >= MARKS_MAX)
		return error_set(err, -ENOSPC, "too many marks (at most %d)", MARKS_MAX);
	code = shell_view_open(shell, 0, &view, err);
	if (code)
		return code;
	mark.snapshot = view.snapshot;
	mark.name = strdup(name);
	if (!mark.name || vec_push(&shell->marks, mark)) {
		mark_free(&mark);
		return error_set(err, -ENOMEM, "out of memory");
	}
	if (shell->terminal)
		shell_print(shell, "%s marked; diff shows what changes from now on",
			    amount_of(view.snapshot->process_count, "process", text));
	return 0;
}

/* ---- diff ---- */

struct shell_diff {
	struct shell *shell;
	const struct shell_mark *mark;
	struct shell_view view;
	struct shell_rows rows;
	struct page page;
};

/* The caller frees *ret_part. */
static int part_collect(const struct shell_diff *diff, const struct site_change *part,
			struct shell_rows *ret_part)
{
	const struct site_row *row;

	*ret_part = (struct shell_rows){0};
	vec_each (row, &diff->rows.list)
		if (part->has(row) && vec_push(&ret_part->list, *row))
			return -ENOMEM;
	return 0;
}

static int part_write(struct shell_diff *diff, const struct site_change *part, struct error *err)
{
	struct site_table_options look = {.now_ns = diff->view.snapshot->taken_ns,
					  .several = diff->view.several,
					  .changes = true};
	struct shell_rows rows;
	size_t shown;
	int code = part_collect(diff, part, &rows);

	if (code)
		error_set(err, code, "out of memory");
	shown = shell_rows_shown(diff->shell, &rows);
	if (!code)
		code = shell_rows_name(diff->shell, &diff->view, &rows, shown, err);
	if (!code && rows.list.count) {
		site_change_heading(&diff->page, part, rows.list.count);
		site_table_write(&diff->page, rows.list.items, shown, &look);
		shell_rows_note(diff->shell, &diff->page, &rows, shown);
	}
	vec_free(&rows.list);
	return code;
}

static int64_t live_change(const struct shell_diff *diff)
{
	int64_t change = 0;

	for (size_t i = 0; i < diff->view.snapshot->process_count; i++) {
		const struct snapshot_process *process = &diff->view.snapshot->processes[i];
		const struct snapshot_process *old =
			shell_process_in(diff->mark->snapshot, process);

		change += (int64_t)(process->live.bytes - (old ? old->live.bytes : 0));
	}
	return change;
}

static void write_title(struct shell_diff *diff)
{
	site_change_title(
		&diff->page, diff->mark->name,
		amount_between(diff->mark->snapshot->taken_ns, diff->view.snapshot->taken_ns),
		live_change(diff));
}

/* Processes that appeared or disappeared since the mark. */
static void write_processes(struct shell_diff *diff, const struct snapshot *from,
			    const struct snapshot *in, const char *what)
{
	char text[AMOUNT_SIZE];

	for (size_t i = 0; i < from->process_count; i++) {
		const struct snapshot_process *process = &from->processes[i];

		if (shell_process_in(in, process))
			continue;
		page_to(&diff->page, TEXT_INDENT);
		page_format(&diff->page, STYLE_PLAIN, "%s: ", what);
		page_name(&diff->page, STYLE_STRONG, process_name(process), NAME_COLUMNS);
		page_format(&diff->page, STYLE_PLAIN, " (%u), %s live", process->pid,
			    bytes_format(process->live.bytes, text));
		page_end(&diff->page);
	}
}

static int diff_write(struct shell_diff *diff, bool all, struct error *err)
{
	int code = shell_rows_collect(diff->shell, &diff->view, diff->mark->snapshot, SORT_USAGE,
				      &diff->rows, err);

	if (code)
		return code;
	if (diff->rows.list.count)
		qsort(diff->rows.list.items, diff->rows.list.count, sizeof(*diff->rows.list.items),
		      site_change_compare);
	write_title(diff);
	write_processes(diff, diff->view.snapshot, diff->mark->snapshot, "new process");
	if (all)
		write_processes(diff, diff->mark->snapshot, diff->view.snapshot,
				"replaced or forgotten");
	for (size_t i = 0; i < SITE_CHANGES && !code; i++)
		code = part_write(diff, &site_changes[i], err);
	vec_free(&diff->rows.list);
	return code;
}

static const struct shell_mark *mark_find(const struct shell *shell, const char *name)
{
	for (size_t i = shell->marks.count; i; i--)
		if (!name || !strcmp(shell->marks.items[i - 1].name, name))
			return &shell->marks.items[i - 1];
	return NULL;
}

int shell_do_diff(struct shell *shell, char *const *words, struct error *err)
{
	struct shell_diff diff = {.shell = shell, .page = shell_page(shell)};
	struct shell_choice choice;
	int code;

	if (words[0])
		diff.mark = mark_find(shell, words[0]);
	if (diff.mark)
		words++;
	code = shell_choose(shell, words, SHELL_TAKES_PID, &choice, err);
	if (code && words[0])
		return error_set(err, code, "no mark \"%.40s\"", words[0]);
	if (!diff.mark)
		diff.mark = mark_find(shell, NULL);
	if (!diff.mark)
		return error_set(err, -ENOENT, "no mark yet: set one with \"mark\"");
	code = shell_view_open(shell, choice.pid, &diff.view, err);
	if (code)
		return code;
	code = diff_write(&diff, !choice.pid, err);
	shell_view_close(&diff.view);
	return code;
}
