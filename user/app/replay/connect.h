/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connect command. */
#ifndef MTRACE_APP_REPLAY_CONNECT_H
#define MTRACE_APP_REPLAY_CONNECT_H

#include "app/cli/options.h"

/* Follows the trace of a server. Returns the exit status. */
int command_connect(const struct options *options);

#endif
