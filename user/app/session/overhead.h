/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tracing costs the traced programs: measured now and then while it does, told by -v and in
 * reports, and kept within a budget if there is one (--max-overhead).
 */
#ifndef MTRACE_APP_SESSION_OVERHEAD_H
#define MTRACE_APP_SESSION_OVERHEAD_H

#include "app/session/session.h"
#include "base/loop.h"

struct overhead;

/* *ret_overhead is NULL if nobody wants to know. 0 or -errno with words. */
int overhead_open(struct overhead **ret_overhead, struct session *session, struct loop *loop,
		  struct error *err);
void overhead_close(struct overhead *overhead); /* NULL is fine */

#endif
