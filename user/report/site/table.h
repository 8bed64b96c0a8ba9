/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites as a list, one per line. */
#ifndef MTRACE_REPORT_SITE_TABLE_H
#define MTRACE_REPORT_SITE_TABLE_H

#include "model/snapshot/snapshot.h"
#include "report/common/page.h"

struct site_row {
	const struct snapshot_process *process;
	const struct snapshot_site *site;
	/* Since an earlier snapshot; see struct site_look. */
	int64_t bytes;
	int64_t blocks;
	uint64_t calls;
	uint64_t interval_ns; /* in which the calls were made; 0: show the calls of all time */
};

struct site_look {
	uint64_t now_ns;    /* for ages */
	enum sort_key sort; /* its value gets a column, if no other shows it */
	bool several;       /* processes: sites are PID:ID */
	bool changes;       /* since the earlier snapshot */
	bool leaks;         /* what was lost, rather than what lives */
	bool programs;      /* sites are of programs, if there are several: they have no ids */
};

/* "12" or "4711:12" */
#define SITE_NAME_SIZE 32
const char *site_name(const struct snapshot_process *process, const struct snapshot_site *site,
		      bool several, char text[SITE_NAME_SIZE]);

void site_table_write(struct page *page, const struct site_row *rows, size_t count,
		      const struct site_look *look);

#endif
