/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row of the option table. */
#ifndef MTRACE_APP_CLI_OPTION_ROW_H
#define MTRACE_APP_CLI_OPTION_ROW_H

#include <stdbool.h>

#include "base/error.h"

#define OPTION_HEADING_SIZE 64 /* bytes of "-p, --pid LIST" with the terminating zero */

struct options;

enum option_group {
	GROUP_TARGET,
	GROUP_RECORD,
	GROUP_SCAN,
	GROUP_REPORT,
	GROUP_METRICS,
	GROUP_SERVE,
	GROUP_CONNECT,
	GROUP_NET,
	GROUP_GENERAL,
	GROUP_COUNT
};

struct option_row {
	char letter; /* '\0': no short form */
	enum option_group group;
	const char *name;
	const char *argument; /* as in the help; "a|b|c" also lists the allowed words */
	const char *help;     /* '\n' starts a new line */
	/*
	 * `argument` is NULL if the option takes none. Returns 0 or -errno with the reason in err.
	 */
	int (*set)(struct options *options, const struct option_row *row, const char *argument,
		   struct error *err);
};

#endif
