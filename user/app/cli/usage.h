/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exit statuses, and checks that several commands share. */
#ifndef MTRACE_APP_CLI_USAGE_H
#define MTRACE_APP_CLI_USAGE_H

#include "app/cli/options.h"

#define EXIT_DONE   0
#define EXIT_CANNOT 1
#define EXIT_USAGE  2
/* --abort-over: tracing costs too much. Few programs exit with it, and timeout(1) uses 124. */
#define EXIT_ABORTED 123

/*
 * Returns EXIT_DONE, or prints which option is only for serve and connect and returns EXIT_USAGE.
 */
int command_takes_no_net(const struct options *options);

#endif
