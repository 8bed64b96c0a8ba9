/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In the parser: files that it was given ahead, and the answers to what will be asked of them. One
 * is read when there is nothing else to do, or when it is asked for.
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
	int fd; /* -1: it was read */
	char *path;
	struct stat status; /* which file it was, and when it was written */
	struct wire answers[EARLY_KINDS];
};

/* Zeroed memory is an empty list. */
struct early {
	VEC(struct early_file) files;
	size_t next; /* to be read, but for those that were asked for */
};

/* Takes the descriptor over. 0 or -ENOMEM. */
int early_give(struct early *early, int fd, const char *path);
bool early_waits(const struct early *early); /* is there one to be read? */
void early_read_next(struct early *early);
/* The answers for that file, and only once; none if it was not given, or was written since. */
void early_tell(struct early *early, int fd, struct wire *answer);
void early_free(struct early *early);

#endif
