/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In the parser: files to prefetch, and the answers for them. A file is read when the parser is
 * idle, or when it is asked for.
 */
#ifndef MTRACE_PARSER_SERVER_PREFETCHED_H
#define MTRACE_PARSER_SERVER_PREFETCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "parser/wire/protocol.h"
#include "parser/wire/wire.h"

struct prefetched_file {
	int fd; /* -1 once it was read */
	char *path;
	struct stat status; /* identifies the file and its last change */
	struct wire answers[PREFETCH_KINDS];
};

/* An all-zero list is empty. */
struct prefetched {
	VEC(struct prefetched_file) files;
	size_t next; /* the next one to read; may have been read on request */
};

/* Takes ownership of the descriptor. Returns 0 or -ENOMEM. */
int prefetched_add(struct prefetched *prefetched, int fd, const char *path);
/* Returns true if a file remains to be read. */
bool prefetched_waits(const struct prefetched *prefetched);
void prefetched_read_next(struct prefetched *prefetched);
/* Writes the answers for a file, and drops them. There are none if the file is not in the list or
 * has changed since. */
void prefetched_write_answers(struct prefetched *prefetched, int fd, struct wire *answer);
void prefetched_free(struct prefetched *prefetched);

#endif
