// SPDX-License-Identifier: GPL-2.0-or-later
/* Sites that grow. */
#include "app/shell/commands.h"

#include "app/shell/arguments.h"
#include "app/shell/output.h"
#include "app/shell/state.h"
#include "app/shell/view.h"
#include "model/snapshot/suspect.h"
#include "report/common/page.h"
#include "report/common/process.h"
#include "report/site/suspects.h"

static void put_process(struct page *page, const struct shell_view *view,
			const struct snapshot_process *process)
{
	if (view->several) {
		page_name(page, STYLE_STRONG, process_name(process), NAME_COLUMNS);
		page_format(page, STYLE_STRONG, " (%u)", process->pid);
		page_end(page);
	}
	suspects_write(page, process, false, true);
}

int shell_do_suspects(struct shell *shell, char *const *words, struct error *err)
{
	struct report report = shell_report(shell);
	struct page page = shell_page(shell);
	const struct snapshot_site *worst;
	struct shell_choice choice;
	struct shell_view view;
	size_t count = 0;
	int code = shell_choose(shell, words, SHELL_TAKES_PID, &choice, err);

	if (!code)
		code = shell_view_open(shell, choice.pid, &view, err);
	if (code)
		return code;
	snapshot_sort(view.snapshot, SORT_GROWTH);
	code = report_name(&report, view.snapshot, SUSPECTS_SHOWN);
	if (code)
		error_set_errno(err, code, "cannot find the names");
	for (size_t i = 0; i < view.snapshot->process_count && !code; i++) {
		if (!suspects_find(&view.snapshot->processes[i], &worst, 1))
			continue;
		put_process(&page, &view, &view.snapshot->processes[i]);
		count++;
	}
	if (!count && !code)
		shell_print(shell, "no site has grown for ten seconds or more");
	shell_view_close(&view);
	return code;
}
