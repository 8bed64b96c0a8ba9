/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites as a table, one per line. */
#ifndef MTRACE_REPORT_SITE_TABLE_H
#define MTRACE_REPORT_SITE_TABLE_H

#include "model/snapshot/snapshot.h"
#include "report/common/page.h"

struct site_row {
	const struct snapshot_process *process;
	const struct snapshot_site *site;
	/* Change since an earlier snapshot; see struct site_table_options. */
	int64_t bytes;
	int64_t blocks;
	uint64_t calls;
	uint64_t interval_ns; /* during which the calls were made; 0: show all calls */
};

struct site_table_options {
	uint64_t now_ns;    /* for ages */
	enum sort_key sort; /* gets its own column if no other column shows it */
	bool several;       /* several processes: sites are shown as PID:ID */
	bool changes;       /* show changes since an earlier snapshot */
	bool leaks;         /* show leaked instead of live memory */
	bool programs;      /* rows show the program instead of the pid, and no ids */
};

/* "12" or "4711:12" */
#define SITE_NAME_SIZE 32
const char *site_name(const struct snapshot_process *process, const struct snapshot_site *site,
		      bool several, char text[SITE_NAME_SIZE]);

void site_table_write(struct page *page, const struct site_row *rows, size_t count,
		      const struct site_table_options *look);

#endif
