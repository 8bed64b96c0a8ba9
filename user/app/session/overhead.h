/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tracing costs the traced programs: measured once after the start, which may end the trace
 * (--abort-over), and then periodically if wanted, reported by -v and in reports, and kept within
 * the budget if there is one (--max-overhead).
 */
#ifndef MTRACE_APP_SESSION_OVERHEAD_H
#define MTRACE_APP_SESSION_OVERHEAD_H

#include "app/session/session.h"
#include "base/loop.h"

struct overhead;

struct overhead_config {
	struct session *session;
	struct loop *loop;
	void (*abort)(void *ctx); /* tracing costs more than --abort-over; the reason was printed */
	void *ctx;
};

/* *ret_overhead is NULL if nothing needs it. Returns 0 or -errno with a message. */
int overhead_open(struct overhead **ret_overhead, const struct overhead_config *config,
		  struct error *err);
/* Starts to measure; call it after the attach. NULL is fine. Returns 0 or -errno. */
int overhead_start(struct overhead *overhead);
void overhead_close(struct overhead *overhead); /* NULL is fine */

#endif
