/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tracing costs the traced programs: measured periodically, reported by -v and in reports, and
 * kept within the budget if there is one (--max-overhead).
 */
#ifndef MTRACE_APP_SESSION_OVERHEAD_H
#define MTRACE_APP_SESSION_OVERHEAD_H

#include "app/session/session.h"
#include "base/loop.h"

struct overhead;

/* *ret_overhead is NULL if nothing needs it. Returns 0 or -errno with a message. */
int overhead_open(struct overhead **ret_overhead, struct session *session, struct loop *loop,
		  struct error *err);
void overhead_close(struct overhead *overhead); /* NULL is fine */

#endif
