/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorts blocks. */
#ifndef MTRACE_SCAN_BLOCK_SORT_H
#define MTRACE_SCAN_BLOCK_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sized_block {
	uint64_t address;
	uint64_t size;
};

/* Sorts by address, in place, in linear time. */
void sort_blocks(struct sized_block *items, size_t count);

#endif
