/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All options, by index and by name. Parsing, the help text, the suggestions for misspelt options
 * and the test that the man page is complete all use this table.
 */
#ifndef MTRACE_APP_CLI_OPTION_TABLE_H
#define MTRACE_APP_CLI_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "app/cli/option_row.h"

/* The i-th option, or NULL after the last. */
const struct option_row *option_at(size_t i);
const struct option_row *option_by_letter(char letter);
const struct option_row *option_by_name(const char *name, size_t length);
/*
 * Returns true for options that are read first, because they name files with more options
 * (--config).
 */
bool option_is_read_first(const struct option_row *row);
const char *option_group_name(enum option_group group);

/* "-p, --pid LIST", as in the help and the man page. Returns `text`. */
const char *option_heading(const struct option_row *row, char text[OPTION_HEADING_SIZE]);

#endif
