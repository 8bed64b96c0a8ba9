/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report command. */
#ifndef MTRACE_APP_REPLAY_REPORT_H
#define MTRACE_APP_REPLAY_REPORT_H

#include "app/cli/options.h"

/* Prints reports from a recording or a MALLOC_TRACE log. Returns the exit status. */
int command_report(const struct options *options);

#endif
