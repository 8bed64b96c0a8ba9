/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the model says about the sites of a process or of all. */
#ifndef MTRACE_APP_SHELL_VIEW_H
#define MTRACE_APP_SHELL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "app/shell/state.h"
#include "base/error.h"

struct shell_view {
	struct snapshot *snapshot; /* of the selected processes, each with its last image only */
	bool several;              /* more than one process: sites are PID:ID */
};

struct shell_rows {
	VEC(struct site_row) list;
	size_t hidden; /* by filters */
};

/* Takes a snapshot of a process, or of all with pid 0. 0 or -errno with a message. */
int shell_view_open(struct shell *shell, pid_t pid, struct shell_view *ret_view, struct error *err);
void shell_view_close(struct shell_view *view);
/*
 * Collects the sites that pass the filters, sorted. With `before`, rows hold the changes since that
 * snapshot; NULL: none. 0 or -ENOMEM with a message. Free with vec_free(&rows->list).
 */
int shell_rows_collect(const struct shell *shell, const struct shell_view *view,
		       const struct snapshot *before, enum sort_key sort,
		       struct shell_rows *ret_rows, struct error *err);
/* The session's report, with ^C as a way to stop the lookup of names. */
struct report shell_report(struct shell *shell);
void shell_rows_sort(struct shell_rows *rows, enum sort_key sort);
/* Looks up the names for the first `count` rows. 0 or -ENOMEM with a message. */
int shell_rows_name(struct shell *shell, const struct shell_view *view,
		    const struct shell_rows *rows, size_t count, struct error *err);
/* The same process image in another snapshot, or NULL. */
const struct snapshot_process *shell_process_in(const struct snapshot *snapshot,
						const struct snapshot_process *process);
/* The number of rows that `set top` allows. */
size_t shell_rows_shown(const struct shell *shell, const struct shell_rows *rows);
/* Writes "12 more sites: set top 0 shows all", "3 sites are left out by set min, older". */
void shell_rows_note(struct shell *shell, struct page *page, const struct shell_rows *rows,
		     size_t shown);

#endif
