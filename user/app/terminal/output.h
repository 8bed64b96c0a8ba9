/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a report goes. A regular file appears as a whole or not at all: it is written under no
 * name (or a temporary one, where the file system cannot do that), and takes the place of the old
 * one when it is complete and on disk. So a full disk, a kill or a crash leaves the old report.
 * Devices, pipes and inherited descriptors are written directly.
 */
#ifndef MTRACE_APP_TERMINAL_OUTPUT_H
#define MTRACE_APP_TERMINAL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

struct output {
	FILE *stream;
	char *path;      /* of the file, symbolic links followed; NULL for a descriptor */
	char *temporary; /* name to pass through; NULL if written directly */
	bool unnamed;    /* the temporary has no name yet (O_TMPFILE) */
};

/* Could a report be written there? Says so before the trace and not after it. */
int output_check(const char *path, struct error *err);
int output_check_fd(int fd, struct error *err);

/* Write to a file … */
int output_open(struct output *ret_output, const char *path, struct error *err);
/* … or to a copy of the descriptor. */
int output_open_fd(struct output *ret_output, int fd, struct error *err);
/* Complete it: 0 or -errno with words; the output is closed in either case. */
int output_commit(struct output *output, struct error *err);
/* Close it and leave nothing behind. */
void output_abandon(struct output *output);

/*
 * %p becomes the pid, %n the number, %% a single %; any other % stays. NULL if out of memory; free
 * it.
 */
char *output_path(const char *pattern, pid_t pid, uint32_t number);

#endif
