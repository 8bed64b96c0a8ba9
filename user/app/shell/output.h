/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output of the running command: on the screen, through a pager, or to a file or command. */
#ifndef MTRACE_APP_SHELL_OUTPUT_H
#define MTRACE_APP_SHELL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "app/shell/state.h"
#include "base/error.h"

/* `streams`: the output must be visible while the command runs. Returns 0 or -errno with a message.
 */
int shell_output_begin(struct shell *shell, const struct shell_words *words, bool streams,
		       struct error *err);
/* Shows the output; if the command failed, leaves no file. Returns 0 or -errno with a message. */
int shell_output_end(struct shell *shell, bool failed, struct error *err);
/* A page that writes to the output of the running command. */
struct page shell_page(const struct shell *shell);
/* The number of lines of the screen, or 0 without one. */
size_t shell_screen_rows(const struct shell *shell);
/* Returns true if a pager will show what was written so far. */
bool shell_output_is_long(const struct shell *shell);
/* Discards what was written so far. */
void shell_output_restart(struct shell *shell);
/* Prints a line, formatted like printf, to the output of the running command. */
void shell_print(struct shell *shell, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
