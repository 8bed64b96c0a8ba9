/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides when the processes of a trace are scanned for leaks: periodically and at the end. The end
 * is the exit of the process (os/ptrace/exit_watch.h) or the end of the trace, whichever comes
 * first. Followed children are watched from their start. With --system-wide, exits are not watched.
 */
#ifndef MTRACE_APP_SCAN_SCANNER_H
#define MTRACE_APP_SCAN_SCANNER_H

#include "app/session/session.h"
#include "base/loop.h"
#include "os/ptrace/holder.h"

struct scanned;

/* An all-zero scanner scans nothing. */
struct scanner {
	struct session *session;
	struct loop *loop;
	int event; /* eventfd: a process whose exit is watched needs attention */
	struct loop_watch *on_event;
	VEC(struct scanned *) processes;
};

/*
 * Sets up the scans that the options want. Returns 0 or -errno with a message; close in any case.
 */
int scanner_open(struct scanner *scanner, struct session *session, struct loop *loop,
		 struct error *err);
/*
 * Adds a process of the session. `from` says from when on it is to be held at exit. If it cannot be
 * watched, says so and stores that as the reason for the missing scan.
 */
void scanner_add(struct scanner *scanner, pid_t pid, enum hold_from from);
/*
 * Scans a process now, on request (pid 0: all that run). *ret_scans is the number of processes
 * scanned. Returns 0 or the first -errno with a message, or -ECANCELED if given_up() ended it.
 */
struct scan_order {
	pid_t pid;
	bool live;
	bool (*given_up)(void *ctx);
	void *ctx;
};
int scanner_scan(struct scanner *scanner, const struct scan_order *order, size_t *ret_scans,
		 struct error *err);
/* At the end of the trace: scans the remaining processes and releases them all. */
void scanner_finish(struct scanner *scanner);
void scanner_close(struct scanner *scanner);

#endif
