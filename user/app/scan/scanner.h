/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the processes of a trace are scanned for leaks: now and then, and at the end. The end is
 * their own (os/ptrace/exit_watch.h) or the trace's, whatever comes first. Children that are
 * followed are watched from their start. Of the whole system nobody's end is watched.
 */
#ifndef MTRACE_APP_SCAN_SCANNER_H
#define MTRACE_APP_SCAN_SCANNER_H

#include "app/session/session.h"
#include "base/loop.h"
#include "os/ptrace/holder.h"

struct scanned;

/* Zeroed memory scans nothing. */
struct scanner {
	struct session *session;
	struct loop *loop;
	int event; /* something has happened to a process whose end is watched */
	struct loop_watch *on_event;
	VEC(struct scanned *) processes;
};

/* What the session's options want. 0 or -errno with words; close in any case. */
int scanner_open(struct scanner *scanner, struct session *session, struct loop *loop,
		 struct error *err);
/*
 * A process of the session; `from` which moment on it is to be held at its end. If it cannot be
 * watched, that is said, booked as the reason of a missing scan, and all.
 */
void scanner_add(struct scanner *scanner, pid_t pid, enum hold_from from);
/*
 * Now, because somebody asks: a process (0: all that run). *ret_scans: how many were scanned. 0, or
 * the first -errno with words; -ECANCELED if it was given up on the way.
 */
struct scan_order {
	pid_t pid;
	bool live;
	bool (*given_up)(void *ctx);
	void *ctx;
};
int scanner_scan(struct scanner *scanner, const struct scan_order *order, size_t *ret_scans,
		 struct error *err);
/* The trace ends: scan what is still there, let everything go. */
void scanner_finish(struct scanner *scanner);
void scanner_close(struct scanner *scanner);

#endif
