/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the memory that jemalloc 5 uses internally. */
#ifndef MTRACE_SCAN_ALLOCATOR_JEMALLOC_H
#define MTRACE_SCAN_ALLOCATOR_JEMALLOC_H

#include "scan/allocator/extents.h"
#include "scan/scan_types.h"

/* Adds its metadata blocks and thread caches. Returns 0 or -errno. */
int jemalloc_find(const struct scan_input *input, struct owned_extents *extents);

#endif
