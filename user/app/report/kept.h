/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --keep N: of the files that reports are written to, each under a name with its number, the latest
 * N stay. Only files that this run has written are ever removed, and only if they still are what it
 * wrote: a file that somebody has put in the place of one stays.
 */
#ifndef MTRACE_APP_REPORT_KEPT_H
#define MTRACE_APP_REPORT_KEPT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct kept_file {
	char *path;
	dev_t device;
	ino_t inode;
	const void *of; /* the request that it answers: each has N */
};

/* Zeroed memory is none; the oldest comes first. */
struct kept {
	VEC(struct kept_file) files;
};

/* A file has been written: at most `count` of the request stay. 0 or -errno: one was not removed.
 */
int kept_add(struct kept *kept, const char *path, const void *of, uint32_t count);
void kept_free(struct kept *kept);

#endif
