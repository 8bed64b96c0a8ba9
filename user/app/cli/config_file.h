/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Defaults in a file: one long option name per line, followed by its argument after blanks or "=".
 *
 *  # my defaults
 *  depth 64
 *  sort = total
 *  scan
 *  ignore ^png_create
 *
 * "ignore" takes an extended regular expression with or without slashes, as in mtrace-ng's files.
 * Options that select what to trace (pid, comm …) are allowed only on the command line.
 */
#ifndef MTRACE_APP_CLI_CONFIG_FILE_H
#define MTRACE_APP_CLI_CONFIG_FILE_H

#include "app/cli/options.h"

/* Applies the options in a file. Returns 0 or -errno with a message, "FILE:3: …". */
int config_read(struct options *options, const char *path, struct error *err);
/*
 * Applies the default files: /etc/mtrace-bpf.conf, then the user's, which is
 * $XDG_CONFIG_HOME/mtrace-bpf/config, ~/.config/mtrace-bpf/config or else ~/.mtrace-bpf. A user's
 * file that somebody else could have written is ignored with a warning.
 */
int config_read_defaults(struct options *options, struct error *err);

#endif
