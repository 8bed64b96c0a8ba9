/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the model into files: snapshot, names, order, and one format per requested report. */
#ifndef MTRACE_APP_REPORT_REPORT_H
#define MTRACE_APP_REPORT_REPORT_H

#include <sys/types.h>

#include "app/cli/options.h"
#include "app/report/retention.h"
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
	bool silent;         /* show no progress */
	pid_t pid;           /* %p in file names */
	uint32_t number;     /* %n in file names: number of the last report, starting at 1 */
	/* Called repeatedly while names are looked up, so that no event is dropped meanwhile. */
	void (*keep_up)(void *ctx);
	/* Returns true to leave the remaining frames without names. May be NULL. */
	bool (*enough)(void *ctx);
	void *ctx;
	struct retention *kept; /* earlier report files; NULL: --keep does not apply */
};

/*
 * Checks that every file can be written; needs only options and pid. Returns 0 or -errno with a
 * message.
 */
int report_check(const struct report *report, struct error *err);

/* Returns true if a report in one of these formats needs each live block. */
bool report_wants_blocks(const struct options *options);

/* Sums over all sections: blocks of these classes (bits by enum leak_class), and invalid frees. */
uint64_t report_leaks(const struct snapshot *snapshot, uint32_t classes);
uint64_t report_errors(const struct snapshot *snapshot);
/*
 * The steps of a report: sorts the snapshot, adds names and applies suppressions. Returns 0 or
 * -ENOMEM.
 */
int report_prepare(const struct report *report, struct snapshot *snapshot);
/* The same in another order, with names for the first `top` sites of each process (0: all). */
int report_order(const struct report *report, struct snapshot *snapshot, enum sort_key sort,
		 size_t top);
/* Adds names to the first `top` sites of each process (0: all). Returns 0 or -ENOMEM. */
int report_name(const struct report *report, struct snapshot *snapshot, size_t top);
/* How the options want a report to look on fd. */
struct format_options report_format_options(const struct report *report,
					    const struct format_request *request, int fd);

/*
 * Writes all reports from a prepared snapshot: sorted, named, and without suppressed leaks. Tries
 * every report even if another one fails. Returns 0 or the first -errno with a message.
 */
int report_write(const struct report *report, struct snapshot *snapshot, struct error *err);

#endif
