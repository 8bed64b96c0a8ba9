/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads blocks again if their pointers did not fit into memory. */
#ifndef MTRACE_SCAN_MARK_REREAD_H
#define MTRACE_SCAN_MARK_REREAD_H

#include <stdint.h>

#include "scan/mark/mark.h"

/*
 * Reads some of the blocks that are still to be followed. Returns 1, 0 if there are none, or
 * -errno.
 */
int scan_reread(struct scan *scan);
/* Reads all unreachable blocks, to find pointers from one to another. Returns 0 or -errno. */
int scan_read_unreachable(struct scan *scan);
/* The first unreachable block from the slot on, or the number of slots if there is none. */
uint32_t scan_next_unreachable(const struct scan *scan, uint32_t slot);

#endif
