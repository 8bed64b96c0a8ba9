/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces a program from its first instruction. */
#ifndef MTRACE_APP_TRACE_LAUNCH_H
#define MTRACE_APP_TRACE_LAUNCH_H

#include "app/cli/options.h"

/* Returns the exit status, or dies by the signal that killed the program. */
int trace_launch(const struct options *options);

#endif
