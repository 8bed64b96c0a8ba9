/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses options from the command line and from files. */
#ifndef MTRACE_APP_CLI_OPTION_PARSER_H
#define MTRACE_APP_CLI_OPTION_PARSER_H

#include "app/cli/options.h"
#include "base/error.h"

/*
 * Parses `arguments` (NULL-terminated, without the program's name or the command word) into *ret:
 * the options, and the remaining words as ret->program. Returns 0, -ENOMEM, or -EINVAL with one
 * line that says what is wrong and may suggest the intended word. Call options_free in any case.
 */
int options_parse(struct options *ret, char *const *arguments, struct error *err);
/*
 * Reads files first: those given with --config, or the default ones (config_file.h). The command
 * line takes precedence.
 */
int options_load(struct options *ret, char *const *arguments, struct error *err);
void options_free(struct options *options);

#endif
