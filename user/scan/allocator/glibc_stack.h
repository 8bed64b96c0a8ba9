/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the stacks of exited threads that glibc keeps for new ones. */
#ifndef MTRACE_SCAN_ALLOCATOR_GLIBC_STACK_H
#define MTRACE_SCAN_ALLOCATOR_GLIBC_STACK_H

#include "scan/allocator/extents.h"
#include "scan/scan_types.h"

/* Adds the idle ranges that are such stacks. Returns 0 or -errno. */
int glibc_stacks_find(const struct scan_input *input, struct owned_extents *extents);

#endif
