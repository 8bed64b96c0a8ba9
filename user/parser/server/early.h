/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In the parser: files to prefetch, and the answers for them. A file is read when the parser is
 * idle, or when it is asked for.
 */
#ifndef MTRACE_PARSER_SERVER_EARLY_H
#define MTRACE_PARSER_SERVER_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "parser/wire/protocol.h"
#include "parser/wire/wire.h"

struct early_file {
	int fd; /* -1 once it was read */
	char *path;
	struct stat status; /* identifies the file and its last change */
	struct wire answers[EARLY_KINDS];
};

/* An all-zero list is empty. */
struct early {
	VEC(struct early_file) files;
	size_t next; /* the next one to read; may have been read on request */
};

/* Takes ownership of the descriptor. Returns 0 or -ENOMEM. */
int early_give(struct early *early, int fd, const char *path);
bool early_waits(const struct early *early); /* returns true if a file remains to be read */
void early_read_next(struct early *early);
/* Writes the answers for a file, and drops them. There are none if the file is not in the list or
 * has changed since. */
void early_tell(struct early *early, int fd, struct wire *answer);
void early_free(struct early *early);

#endif
