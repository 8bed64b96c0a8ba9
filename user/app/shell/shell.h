/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shell on a trace (--interactive): lines from standard input, commands on the session. The
 * trace goes on while it waits, and while a command runs: commands that take time run the event
 * loop themselves. It knows nothing of where the events come from.
 */
#ifndef MTRACE_APP_SHELL_SHELL_H
#define MTRACE_APP_SHELL_SHELL_H

#include <stdbool.h>

#include "app/shell/config.h"
#include "base/error.h"

struct shell;

/* 0 or -errno with words. */
int shell_open(struct shell **ret_shell, const struct shell_config *config, struct error *err);
void shell_close(struct shell *shell); /* NULL is fine; not from within a command */

/* Events were booked: has any process that was there at first ended? */
void shell_drained(struct shell *shell);
/* ^C: ends the command that runs, or throws away the line that is typed; a script ends. */
void shell_interrupt(struct shell *shell);
/* How many commands of a script failed; 0 where a terminal gave them. */
unsigned int shell_failures(const struct shell *shell);

#endif
