/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SCAN_BLOCK_SORT_H
#define MTRACE_SCAN_BLOCK_SORT_H

#include <stddef.h>

struct sized_block;

/* By address, in place, in linear time. */
void sort_blocks(struct sized_block *items, size_t count);

#endif
