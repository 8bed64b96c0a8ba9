/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds sites by name. */
#ifndef MTRACE_APP_SHELL_COMMAND_SITE_H
#define MTRACE_APP_SHELL_COMMAND_SITE_H

#include "app/shell/view.h"
#include "base/error.h"

/*
 * Finds the site that a word names (ID or PID:ID) and opens the view that contains it. Returns 0 or
 * -errno with a message.
 */
int shell_site_find(struct shell *shell, const char *word, struct shell_view *ret_view,
		    struct site_row *ret_row, struct error *err);

#endif
