/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of all memory for a scan, made at once, so that the process is paused only briefly. */
#ifndef MTRACE_SCAN_READ_COPY_H
#define MTRACE_SCAN_READ_COPY_H

#include <stddef.h>

#include "scan/scan_types.h"

struct copy;

/*
 * Allocates room for `room` bytes and touches it while the process still runs, because getting
 * pages from the kernel takes as long as filling them. Can be used for several scans. Returns 0 or
 * -ENOMEM.
 */
int copy_open(struct copy **ret_copy, size_t room);
void copy_close(struct copy *copy); /* NULL is fine */

/*
 * The room that a copy of the process's memory needs, from its current size, with some to
 * spare. Does not include shared and huge pages that it has not mapped. Returns 0 if that is more
 * than `percent` of the machine's available memory, or unknown.
 */
size_t copy_room(pid_t pid, unsigned int percent);

/*
 * Copies all ranges and registers. From then on the input refers to the copy. Images outside of the
 * ranges are still read from the original memory, whose pages equal the file. Returns 1, 0 if there
 * is not enough room (the input is unchanged), or -errno.
 */
int copy_take(struct copy *copy, struct scan_input *input);
/* The number of bytes in the last copy. */
size_t copy_bytes(const struct copy *copy);

#endif
