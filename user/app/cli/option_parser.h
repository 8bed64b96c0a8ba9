/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options from the command line and from files. */
#ifndef MTRACE_APP_CLI_OPTION_PARSER_H
#define MTRACE_APP_CLI_OPTION_PARSER_H

#include "app/cli/options.h"
#include "base/error.h"

/*
 * Parses `arguments` (NULL-terminated, after the program's name or command word) into *ret: the
 * options, and the words after them as ret->program. Returns 0, -EINVAL with one line that says
 * what is wrong and what may have been meant, or -ENOMEM. Free with options_free in any case.
 */
int options_parse(struct options *ret, char *const *arguments, struct error *err);
/*
 * Reads files first: those that --config names, or the default ones (config_file.h). The command
 * line takes precedence.
 */
int options_load(struct options *ret, char *const *arguments, struct error *err);
void options_free(struct options *options);

#endif
