/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles pointers while memory is read for the first time. */
#ifndef MTRACE_SCAN_MARK_REACH_H
#define MTRACE_SCAN_MARK_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "scan/mark/mark.h"

/* Handles a pointer from a block, or from a root (SLOT_NONE). */
void scan_pass_pointer(struct scan *scan, uint32_t source, const struct edge *edge);
/* Marks the target as reachable. */
void scan_reach(struct scan *scan, const struct edge *edge);
/* Marks a target that was not reached before as reached by an interior or tagged pointer. */
void scan_set_interior(struct scan *scan, const struct edge *edge);
/* The block's pointers do not fit: it must be read again if it is reached. */
void scan_put_off(struct scan *scan, uint32_t source);
/* Looks for idioms in the block's first words, if they are in the current piece. */
void scan_see_block(struct scan *scan, const struct block_cursor *at);
/* Does the pointer count as one to the start of its block? The block must have been read. */
bool scan_counts_as_start(const struct scan *scan, const struct edge *edge);

#endif
