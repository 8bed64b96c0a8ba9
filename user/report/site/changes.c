/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites that changed most since the last report of the same trace. */
#include "report/site/changes.h"

#include <stdlib.h>

#include "report/common/amount.h"
#include "report/common/page.h"
#include "report/site/change.h"
#include "report/text/view.h"

#define ROWS_MAX 16

struct changes {
	struct site_row rows[ROWS_MAX];
	size_t count;
	int64_t bytes; /* of all heap sites */
};

static struct changes changes_of(const struct snapshot_process *process)
{
	struct changes changes = {.count = 0};

	for (size_t i = 0; i < process->site_count; i++) {
		const struct snapshot_site *site = &process->sites[i];
		struct site_row row = {.process = process, .site = site};

		row.bytes = (int64_t)(site->live_bytes - site->before.bytes);
		row.blocks = (int64_t)(site->live_blocks - site->before.blocks);
		if (api_row(site->api)->family == FAMILY_HEAP)
			changes.bytes += row.bytes;
		if (site->reported_change && changes.count < ROWS_MAX)
			changes.rows[changes.count++] = row;
	}
	if (changes.count)
		qsort(changes.rows, changes.count, sizeof(changes.rows[0]), site_change_compare);
	return changes;
}

static void write_change(const struct view *view, const struct changes *changes,
			 const struct site_change *change)
{
	const struct site_table_options look = {.now_ns = view->snapshot->taken_ns,
						.changes = true,
						.programs = !view->options->ids};
	struct site_row rows[ROWS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < changes->count; i++)
		if (change->has(&changes->rows[i]))
			rows[count++] = changes->rows[i];
	if (!count)
		return;
	site_change_heading(view->page, change, count);
	site_table_write(view->page, rows, count, &look);
}

void text_changes(const struct view *view)
{
	struct changes changes;

	if (!view->snapshot->before_ns)
		return;
	changes = changes_of(view->process);
	site_change_title(view->page, "the last report",
			  amount_between(view->snapshot->before_ns, view->snapshot->taken_ns),
			  changes.bytes);
	for (size_t i = 0; i < SITE_CHANGES; i++)
		write_change(view, &changes, &site_changes[i]);
	page_end(view->page);
}
