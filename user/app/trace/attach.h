/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces running processes. */
#ifndef MTRACE_APP_TRACE_ATTACH_H
#define MTRACE_APP_TRACE_ATTACH_H

#include "app/cli/options.h"

/* Traces the processes of --pid. Returns the exit status. */
int trace_attach(const struct options *options);
/* Traces all processes that the options select. Returns the exit status. */
int trace_system(const struct options *options);

#endif
