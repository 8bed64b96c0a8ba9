/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --keep N: of the numbered files that reports are written to, the latest N are kept. Only files
 * written by this run are ever removed, and only if they are still the same: a file that
 * somebody else has put in its place stays.
 */
#ifndef MTRACE_APP_REPORT_RETENTION_H
#define MTRACE_APP_REPORT_RETENTION_H

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct retained_file {
	char *path;
	dev_t device;
	ino_t inode;
	const void *of; /* the request it belongs to: each request keeps N files */
};

/* All-zero memory is an empty list. The oldest file is first. */
struct retention {
	VEC(struct retained_file) files;
};

/*
 * Adds a written file and removes the oldest ones beyond `count` of the same request. Returns 0, or
 * -errno if a file could not be removed.
 */
int retention_add(struct retention *retention, const char *path, const void *of, uint32_t count);
void retention_free(struct retention *retention);

#endif
