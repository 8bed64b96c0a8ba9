/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the arenas of glibc's malloc. */
#ifndef MTRACE_SCAN_ALLOCATOR_GLIBC_ARENA_H
#define MTRACE_SCAN_ALLOCATOR_GLIBC_ARENA_H

#include "scan/allocator/extents.h"
#include "scan/scan_types.h"

/* Adds the pointers that each arena keeps to chunks. Returns 0 or -errno. */
int glibc_arenas_find(const struct scan_input *input, struct owned_extents *extents);

#endif
