/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_APP_CLI_HELP_H
#define MTRACE_APP_CLI_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "app/cli/options.h"

#define HELP_WIDTH 80

/* Prints the three usage lines. */
void usage_print(FILE *out);
void help_print(FILE *out, bool color);
/* Prints name, version and licence. */
void version_print(FILE *out);
/* Prints the help on standard output. Returns the exit status. */
int command_help(const struct options *options);

#endif
