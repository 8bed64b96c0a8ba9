/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shell of a trace (--interactive): reads lines from standard input and runs commands on the
 * session. The trace continues while the shell waits and while a command runs, because long
 * commands run the event loop themselves. The shell does not know where events come from.
 */
#ifndef MTRACE_APP_SHELL_SHELL_H
#define MTRACE_APP_SHELL_SHELL_H

#include <stdbool.h>

#include "app/shell/config.h"
#include "base/error.h"

struct shell;

/* Returns 0 or -errno with a message. */
int shell_open(struct shell **ret_shell, const struct shell_config *config, struct error *err);
void shell_close(struct shell *shell); /* NULL is fine; do not call it from a command */

/* Called after a drain: reports processes present at the start that have exited. */
void shell_drained(struct shell *shell);
/* ^C: interrupts the running command, or discards the typed line; ends a script. */
void shell_interrupt(struct shell *shell);
/* The number of failed commands in a script; 0 on a terminal. */
unsigned int shell_failures(const struct shell *shell);

#endif
