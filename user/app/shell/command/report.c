// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports on the screen and in files. */
#include "app/shell/commands.h"

#include <errno.h>
#include <string.h>

#include "app/shell/arguments.h"
#include "app/shell/output.h"
#include "app/shell/state.h"
#include "app/shell/view.h"
#include "report/format.h"

/* ---- dump ---- */

static bool is_hidden(const struct shell *shell, const struct snapshot *snapshot,
		      const struct snapshot_process *process, const struct snapshot_site *site)
{
	const struct shell_settings *settings = &shell->settings;
	uint64_t until_ns = process->exited ? process->traced_until_ns : snapshot->taken_ns;

	return (settings->min_bytes && site->live_bytes < settings->min_bytes) ||
	       (settings->older_ns &&
		(!site->live_blocks || site->oldest_ns + settings->older_ns > until_ns));
}

/* Removes the sites that the filters hide; the totals stay. */
static size_t apply_filters(const struct shell *shell, struct snapshot *snapshot)
{
	size_t hidden = 0;

	for (size_t i = 0; i < snapshot->process_count; i++) {
		struct snapshot_process *process = &snapshot->processes[i];
		size_t kept = 0;

		for (size_t j = 0; j < process->site_count; j++)
			if (!is_hidden(shell, snapshot, process, &process->sites[j]))
				process->sites[kept++] = process->sites[j];
		hidden += process->site_count - kept;
		process->site_count = kept;
	}
	return hidden;
}

static void cut_stacks(const struct shell *shell, struct snapshot *snapshot)
{
	uint32_t depth = shell->settings.depth;

	for (size_t i = 0; depth && i < snapshot->process_count; i++)
		for (size_t j = 0; j < snapshot->processes[i].stack_count; j++)
			if (snapshot->processes[i].stacks[j].frame_count > depth)
				snapshot->processes[i].stacks[j].frame_count = depth;
}

static int write_dump(struct shell *shell, const struct snapshot *snapshot,
		      const struct shell_choice *choice, bool worst_last)
{
	const struct page page = shell_page(shell);
	const struct format_options look = {
		.top = shell->settings.top,
		.worst_last = worst_last,
		.color = page.color,
		.utf8 = page.utf8,
		.long_frames = choice->long_frames,
		.verbose = shell->options->verbose,
		.listed = shell->options->leak_kinds_given ? shell->options->leak_kinds : 0,
		.width = terminal_width(shell->output.fd),
		.sort = choice->sort,
		.ids = true,
	};

	return format_text.write(snapshot, &look, shell->output.stream);
}

/* A pager shows the beginning first, the screen shows the end. */
static int show_dump(struct shell *shell, const struct snapshot *snapshot,
		     const struct shell_choice *choice, size_t hidden, struct error *err)
{
	bool worst_last = shell_screen_rows(shell) && shell->output.redirect == REDIRECT_NONE;
	int code = write_dump(shell, snapshot, choice, worst_last);

	if (!code && worst_last && shell_output_is_long(shell)) {
		shell_output_restart(shell);
		code = write_dump(shell, snapshot, choice, false);
	}
	if (hidden)
		shell_print(shell, "%zu sites are hidden by \"set min\" or \"set older\"", hidden);
	return code ? error_set_errno(err, code, "cannot write") : 0;
}

/* A report includes what replaced images leaked. */
static int all_sections(struct shell *shell, struct shell_view *ret_view, struct error *err)
{
	session_drain(shell->config.session);
	*ret_view = (struct shell_view){0};
	return session_snapshot(shell->config.session, &ret_view->snapshot, err);
}

int shell_do_dump(struct shell *shell, char *const *words, struct error *err)
{
	struct options options = *shell->options;
	struct report report = shell_report(shell);
	struct shell_choice choice;
	struct shell_view view;
	size_t hidden;
	int code = shell_choose(shell, words, SHELL_TAKES_PID | SHELL_TAKES_SORT | SHELL_TAKES_LONG,
				&choice, err);

	if (!code && choice.pid)
		code = shell_view_open(shell, choice.pid, &view, err);
	else if (!code)
		code = all_sections(shell, &view, err);
	if (code)
		return code;
	if (choice.pid)
		view.snapshot->others = (struct snapshot_others){0};
	hidden = apply_filters(shell, view.snapshot);
	options.sort = choice.sort;
	options.top = shell->settings.top;
	options.top_given = true;
	report.options = &options;
	code = report_prepare(&report, view.snapshot);
	if (code)
		error_set_errno(err, code, "cannot make the report");
	else if (shell->interrupted)
		code = error_set(err, -EINTR, "interrupted");
	cut_stacks(shell, view.snapshot);
	if (!code)
		code = show_dump(shell, view.snapshot, &choice, hidden, err);
	shell_view_close(&view);
	return code;
}

/* ---- files ---- */

/* Like --format FORMAT=FILE at the end of a trace. */
static int write_file(struct shell *shell, const struct report_format *format, const char *path,
		      struct error *err)
{
	struct options options = *shell->options;
	struct report report = shell->config.session->report;
	struct format_request request = {.format = format, .path = path};
	struct snapshot *snapshot;
	int code;

	options.formats.items = &request;
	options.formats.count = 1;
	options.sort = shell->settings.sort;
	report.options = &options;
	session_drain(shell->config.session);
	code = session_snapshot(shell->config.session, &snapshot, err);
	if (code)
		return code;
	code = report_write(&report, snapshot, err);
	snapshot_free(snapshot);
	if (!code && shell->terminal)
		shell_print(shell, "written: %s", path);
	return code;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);

	return length > size && !strcmp(text + length - size, end);
}

int shell_do_save(struct shell *shell, char *const *words, struct error *err)
{
	if (!words[0] || words[1])
		return error_set(err, -EINVAL, "usage");
	return write_file(shell, ends_with(words[0], ".json") ? &format_json : &format_text,
			  words[0], err);
}

static const char *format_name(size_t index)
{
	const struct report_format *format = format_at(index);

	return format ? format->name : NULL;
}

int shell_do_export(struct shell *shell, char *const *words, struct error *err)
{
	int index;

	if (!words[0] || !words[1] || words[2])
		return error_set(err, -EINVAL, "usage");
	index = shell_name_find("format", words[0], format_name, err);
	return index < 0 ? index : write_file(shell, format_at((size_t)index), words[1], err);
}
