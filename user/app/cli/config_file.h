/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Defaults in a file: the names of the long options, one a line, with what belongs to it behind
 * blanks or "=".
 *
 *	# what is always wanted
 *	depth 64
 *	sort = total
 *	scan
 *	ignore ^png_create
 *
 * "ignore" takes an extended regular expression, as mtrace-ng's files have it, with slashes or
 * without. What says what to trace (pid, comm …) belongs on the command line alone.
 */
#ifndef MTRACE_APP_CLI_CONFIG_FILE_H
#define MTRACE_APP_CLI_CONFIG_FILE_H

#include "app/cli/options.h"

/* Apply what a file says: 0 or -errno with words, "FILE:3: …". */
int config_read(struct options *options, const char *path, struct error *err);
/*
 * The same of the files that are read where none is named: /etc/mtrace-bpf.conf, and then the
 * user's, $XDG_CONFIG_HOME/mtrace-bpf/config or ~/.config/mtrace-bpf/config or else ~/.mtrace-bpf.
 * A user's file that somebody else could have written is left alone, and that is said.
 */
int config_read_defaults(struct options *options, struct error *err);

#endif
