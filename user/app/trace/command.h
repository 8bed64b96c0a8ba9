/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracing commands: trace and serve. */
#ifndef MTRACE_APP_TRACE_COMMAND_H
#define MTRACE_APP_TRACE_COMMAND_H

#include "app/cli/options.h"

/* Each returns the exit status, or dies by the signal that killed the launched program. */
int command_trace(const struct options *options);
int command_serve(const struct options *options);

#endif
