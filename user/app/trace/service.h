/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For traces that run for days: notifies a service manager, and reloads options. */
#ifndef MTRACE_APP_TRACE_SERVICE_H
#define MTRACE_APP_TRACE_SERVICE_H

#include "app/trace/trace.h"

/*
 * Tells the service manager, now and as often as it wants, that every call is traced from here on.
 */
int trace_ready(struct trace *trace);
/* Tells it that the trace is ending. */
void trace_stopping(void);
/* Returns true if SIGHUP asks to reload. On a terminal it means that the terminal is gone. */
bool trace_hangup_reloads(const struct trace *trace);
/* Reloads the configuration and reports the result. */
void trace_reload(struct trace *trace);

#endif
