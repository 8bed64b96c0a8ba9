/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One leak scan of one process: from its model and its memory to the result in the model.
 * scanner.h decides when to scan.
 */
#ifndef MTRACE_APP_SCAN_LEAK_SCAN_H
#define MTRACE_APP_SCAN_LEAK_SCAN_H

#include "app/session/session.h"
#include "os/ptrace/holder.h"

/* What is wanted. */
struct leak_scan {
	struct session *session;
	pid_t pid;
	struct holder *holder;       /* its tracer, if it has one; NULL: nobody */
	bool live;                   /* while it runs; not of one that is held at its end */
	bool read_swapped;           /* fetch swapped pages; else what they hold is not known */
	bool (*given_up)(void *ctx); /* asked now and then: -ECANCELED if so; may be NULL */
	void *ctx;
	unsigned int step; /* bytes from one pointer to the next; 0: a pointer's size */
};

/*
 * Scan, and book the result, or why there is none. A process that was stopped runs again, unless it
 * is held at its end. 0 or -errno with words; that is no reason to end the trace.
 */
int leak_scan_run(const struct leak_scan *scan, struct error *err);

#endif
