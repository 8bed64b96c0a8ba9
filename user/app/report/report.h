/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the model to files: snapshot, names, order, and one format for each requested report. */
#ifndef MTRACE_APP_REPORT_REPORT_H
#define MTRACE_APP_REPORT_REPORT_H

#include <sys/types.h>

#include "app/cli/options.h"
#include "app/report/kept.h"
#include "base/error.h"
#include "model/snapshot/snapshot.h"
#include "parser/client/client.h"
#include "symbol/elf/module.h"

/* Where reports go and where their names come from. Borrows everything. */
struct report {
	const struct options *options;
	struct module_table *modules;
	struct parser *parser;
	const char *backend; /* name of the source */
	int standard_fd;     /* where a report goes without --output */
	bool silent;         /* no progress of names is shown */
	pid_t pid;           /* %p in a file name */
	uint32_t number;     /* %n: of the report that was written last; the first one is 1 */
	/* Called again and again while names are looked up, so that no event is lost meanwhile. */
	void (*keep_up)(void *ctx);
	/* Is that done long enough? What has no names then gets none. May be NULL. */
	bool (*enough)(void *ctx);
	void *ctx;
	struct kept *kept; /* files of former reports; NULL: --keep does not count here */
};

/* Can every file be written? 0 or -errno with words. Needs options and pid only. */
int report_check(const struct report *report, struct error *err);

/* Does a report of these formats need each live block? */
bool report_wants_blocks(const struct options *options);

/* Of all sections: blocks of these classes (bits by enum leak_class), and invalid releases. */
uint64_t report_leaks(const struct snapshot *snapshot, uint32_t classes);
uint64_t report_errors(const struct snapshot *snapshot);
/* The same in parts. Sorted, given its names, and rid of what suppressions excuse. 0 or -ENOMEM. */
int report_prepare(const struct report *report, struct snapshot *snapshot);
/* The same for another order, and names for the first `top` sites of each process (0: all). */
int report_order(const struct report *report, struct snapshot *snapshot, enum sort_key sort,
		 size_t top);
/* Names for the first `top` sites of each process (0: all). 0 or -ENOMEM. */
int report_name(const struct report *report, struct snapshot *snapshot, size_t top);
/* How the options want a report to look where fd leads. */
struct format_options report_look(const struct report *report, const struct format_request *request,
				  int fd);

/*
 * Write all reports from the snapshot, which is sorted, given its names, and rid of the leaks that
 * suppressions excuse. Every one is tried, whatever becomes of the others. 0, or the first -errno
 * with words.
 */
int report_write(const struct report *report, struct snapshot *snapshot, struct error *err);

#endif
