/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics of a trace while it runs: for Prometheus over HTTP (--prometheus) and in a file
 * (--prometheus-file), and profiles over HTTP for who collects those.
 *
 * All of it is made in the trace's own loop, which books events meanwhile, and made anew only when
 * somebody asks and what there is has aged: a second, or many times as long as it took to make. So
 * however many ask, the trace spends a bounded part of its time on them.
 */
#ifndef MTRACE_APP_SESSION_METRICS_H
#define MTRACE_APP_SESSION_METRICS_H

#include <stdbool.h>

#include "app/session/session.h"
#include "base/error.h"
#include "base/loop.h"

struct metrics;

/* Are any wanted? */
bool metrics_wanted(const struct options *options);
/* What the session's options want; *ret_metrics is NULL if that is nothing. 0 or -errno with words.
 */
int metrics_open(struct metrics **ret_metrics, struct session *session, struct loop *loop,
		 struct error *err);
/* The trace has ended: write the file once more. Says what goes wrong. NULL is fine. */
void metrics_finish(struct metrics *metrics);
void metrics_close(struct metrics *metrics); /* NULL is fine */

#endif
