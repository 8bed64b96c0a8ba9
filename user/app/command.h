/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands, which are named by the first word of the command line. */
#ifndef MTRACE_APP_COMMAND_H
#define MTRACE_APP_COMMAND_H

#include <stdbool.h>

#include "app/cli/options.h"

struct command {
	const char *name;
	bool traces; /* takes all options, and words after them; otherwise only general options */
	/* Returns the exit status. */
	int (*run)(const struct options *options);
};

/* The command with this name, or NULL. */
const struct command *command_find(const char *name);
/* The command that runs if none is named: trace. */
const struct command *command_default(void);

#endif
