/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of all memory of a scan, read at once, so that the process is paused only briefly. */
#ifndef MTRACE_SCAN_READ_COPY_H
#define MTRACE_SCAN_READ_COPY_H

#include <stddef.h>

#include "scan/scan_types.h"

struct copy;

/*
 * Allocates room for `bytes`, and touches it now, while the process still runs: getting the pages
 * from the kernel takes as long as filling them. Can be used for several scans. Returns 0 or
 * -ENOMEM.
 */
int copy_open(struct copy **ret_copy, size_t room);
void copy_close(struct copy *copy); /* NULL is fine */

/*
 * The room that a copy of the process's memory needs by what it has now, with some to spare. Shared
 * and huge pages that it has not mapped are not foreseen. 0 if that is more than `percent` of the
 * memory that is available on the machine, or unknown.
 */
size_t copy_room(pid_t pid, unsigned int percent);

/*
 * Read all ranges and registers. From then on the input means the copy. What is read of the images
 * outside of the ranges still comes from where it was: pages as they are in the file. 1, 0 if there
 * is not enough room (the input is as it was), -errno.
 */
int copy_take(struct copy *copy, struct scan_input *input);
/* Bytes that the last copy has. */
size_t copy_bytes(const struct copy *copy);

#endif
