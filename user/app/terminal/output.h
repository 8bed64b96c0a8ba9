/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The destination of a report. A regular file appears completely or not at all: it is written
 * without a name (or with a temporary one, if the file system cannot do that) and replaces the old
 * file when it is complete and on disk. So a full disk, a kill or a crash leaves the old report.
 * Devices, pipes and inherited descriptors are written directly. os/file/place.h says which
 * existing files and symbolic links are refused.
 */
#ifndef MTRACE_APP_TERMINAL_OUTPUT_H
#define MTRACE_APP_TERMINAL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "os/file/place.h"

/* Modes of new files, less the umask. */
#define OUTPUT_PRIVATE 0600 /* it may contain bytes of the traced processes' memory */
#define OUTPUT_PUBLIC  0644

struct output {
	FILE *stream;
	char *path;         /* as the user gave it; NULL for a descriptor */
	struct place place; /* of the file */
	char *temporary;    /* temporary name in its directory; NULL if written directly */
	bool unnamed;       /* the temporary has no name yet (O_TMPFILE) */
};

/*
 * Check before a trace that a report can be written at its end. Return 0 or -errno with a message.
 */
int output_check(const char *path, struct error *err);
int output_check_fd(int fd, struct error *err);

/*
 * Opens a file for writing. Its mode is that of the old file if that is ours, otherwise `mode` …
 */
int output_open(struct output *ret_output, const char *path, mode_t mode, struct error *err);
/* … or a copy of the descriptor. */
int output_open_fd(struct output *ret_output, int fd, struct error *err);
/* Opens a file for appending, and creates it if needed. Returns 0 or -errno with a message. */
int output_append(FILE **ret_stream, const char *path, struct error *err);
/* Completes and closes the output, even on failure. Returns 0 or -errno with a message. */
int output_commit(struct output *output, struct error *err);
/* Closes the output and leaves nothing behind. */
void output_abandon(struct output *output);

/*
 * Replaces %p with the pid, %n with the number and %% with %; any other % stays. The caller frees
 * the result; NULL if out of memory.
 */
char *output_path(const char *pattern, pid_t pid, uint32_t number);

#endif
