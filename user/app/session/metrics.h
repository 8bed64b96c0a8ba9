/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics of a running trace: for Prometheus over HTTP (--prometheus) and in a file
 * (--prometheus-file), and profiles over HTTP for tools that collect those.
 *
 * All of them are made in the loop of the trace, which drains events meanwhile. They are made only
 * on request, and only if the last version is older than a second and than a multiple of the time
 * it took to make. So the time spent on them is bounded, no matter how many readers there are.
 */
#ifndef MTRACE_APP_SESSION_METRICS_H
#define MTRACE_APP_SESSION_METRICS_H

#include <stdbool.h>

#include "app/session/session.h"
#include "base/error.h"
#include "base/loop.h"

struct metrics;

/* Returns true if the options want any metrics. */
bool metrics_wanted(const struct options *options);
/*
 * Opens what the session's options want; *ret_metrics is NULL if they want none. Returns 0 or
 * -errno with a message.
 */
int metrics_open(struct metrics **ret_metrics, struct session *session, struct loop *loop,
		 struct error *err);
/* After the end of the trace: writes the file once more. Prints errors, unless the write before
 * failed, too. Returns 0 or -errno. NULL is fine. */
int metrics_finish(struct metrics *metrics);
void metrics_close(struct metrics *metrics); /* NULL is fine */

#endif
