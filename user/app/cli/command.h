/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the first word can be. Each command returns the exit status. */
#ifndef MTRACE_APP_CLI_COMMAND_H
#define MTRACE_APP_CLI_COMMAND_H

#include "app/cli/options.h"

#define EXIT_DONE   0
#define EXIT_CANNOT 1
#define EXIT_USAGE  2

struct command {
	const char *name;
	bool traces; /* takes options and words behind them; the others only the general ones */
	int (*run)(const struct options *options);
};

/* The command of that name, or NULL. */
const struct command *command_find(const char *name);
/* What runs if no command was named: trace. */
const struct command *command_default(void);

/* EXIT_DONE, or says what is only for serve and connect. */
int command_takes_no_net(const struct options *options);

int command_trace(const struct options *options);
int command_report(const struct options *options);
int command_diff(const struct options *options);
int command_serve(const struct options *options);
int command_connect(const struct options *options);
int command_doctor(const struct options *options);
int command_help(const struct options *options);

#endif
