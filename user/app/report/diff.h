/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The diff command. */
#ifndef MTRACE_APP_REPORT_DIFF_H
#define MTRACE_APP_REPORT_DIFF_H

#include "app/cli/options.h"

/* Prints what grew between two JSON reports. Returns the exit status. */
int command_diff(const struct options *options);

#endif
