/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace that runs for days: what a service manager wants, and options that change meanwhile. */
#ifndef MTRACE_APP_TRACE_SERVICE_H
#define MTRACE_APP_TRACE_SERVICE_H

#include "app/trace/trace.h"

/* Every call is seen from here on: tell the service manager, now and as often as it wants. */
int trace_ready(struct trace *trace);
/* The trace ends: tell it. */
void trace_stopping(void);
/* Is a SIGHUP a wish to read the configuration again? On a terminal it means that that is gone. */
bool trace_hangup_reloads(const struct trace *trace);
/* Read it again. Tells what becomes of it. */
void trace_reload(struct trace *trace);

#endif
