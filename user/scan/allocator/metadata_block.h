/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the memory in which jemalloc keeps its metadata. */
#ifndef MTRACE_SCAN_ALLOCATOR_METADATA_BLOCK_H
#define MTRACE_SCAN_ALLOCATOR_METADATA_BLOCK_H

#include "scan/allocator/extents.h"
#include "scan/scan_types.h"

/* Adds each metadata block. Returns 0 or -errno. */
int metadata_blocks_find(const struct scan_input *input, struct owned_extents *extents);

#endif
