/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiles programs for other machines in a scratch directory. For tests with cmocka. */
#ifndef MTRACE_TESTS_CROSS_H
#define MTRACE_TESTS_CROSS_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "scratch.h"

#define CROSS_SOURCES "tests/unit/cross"

/* Skips the test unless this program (such as a compiler) is installed. */
static inline void cross_require(const char *program)
{
	char line[PATH_MAX];

	snprintf(line, sizeof(line), "command -v %s >/dev/null", program);
	if (system(line)) {
		print_message("[  SKIP   ] no %s\n", program);
		skip();
	}
}

/* The path of a source file in the test's directory. */
static inline const char *cross_source(const char *name, char path[PATH_MAX])
{
	char relative[PATH_MAX];

	snprintf(relative, sizeof(relative), CROSS_SOURCES "/%s", name);
	if (!realpath(relative, path))
		fail_msg("no %s: run this from the project's directory", relative);
	return path;
}

/* Runs `command` with the path of the source as its last argument, in the scratch directory. */
static inline void cross_build(const struct scratch *scratch, const char *command,
			       const char *source)
{
	char line[2 * PATH_MAX], path[PATH_MAX];

	snprintf(line, sizeof(line), "%s %s", command, cross_source(source, path));
	if (scratch_run(scratch, line))
		fail_msg("cannot build: %s", line);
}

#endif
