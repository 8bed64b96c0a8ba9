/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One leak scan of one process: from its model and its memory to the result in the model.
 * scanner.h decides when to scan.
 */
#ifndef MTRACE_APP_SCAN_LEAK_SCAN_H
#define MTRACE_APP_SCAN_LEAK_SCAN_H

#include "app/session/session.h"
#include "os/ptrace/holder.h"

/* The parameters of a scan. */
struct leak_scan {
	struct session *session;
	pid_t pid;
	struct holder *holder;       /* its tracer; NULL: none */
	bool live;                   /* scan while it runs; must be false if it is held at exit */
	bool read_swapped;           /* fetch swapped pages; otherwise their contents are unknown */
	bool (*given_up)(void *ctx); /* returns true to give up with -ECANCELED; may be NULL */
	void *ctx;
	unsigned int step; /* bytes from one pointer to the next; 0: pointer size */
};

/*
 * Scans a process and stores the result in the model, or the reason for the failure. Resumes the
 * process if it was stopped, unless it is held at exit. Returns 0 or -errno; sets *err. The trace
 * can continue in either case.
 */
int leak_scan_run(const struct leak_scan *scan, struct error *err);

#endif
