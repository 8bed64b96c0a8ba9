/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocators keep pointers to the memory that they manage: to free chunks, to the next place to
 * allocate from, to the start of each slab. The C library keeps the stacks of threads that have
 * exited. As roots, all these would make leaked blocks look referenced. So memory that is certain
 * to be of this kind is excluded from the roots:
 *
 *    glibc     arenas (scan/allocator/glibc_arena.c) and stacks (scan/allocator/glibc_stack.c)
 *    jemalloc  metadata blocks and thread caches (scan/allocator/jemalloc.c)
 *
 * It is recognised by its contents, never by symbols or offsets, so stripped and statically linked
 * programs are covered. Doubtful memory remains a root.
 */
#ifndef MTRACE_SCAN_ALLOCATOR_OWN_MEMORY_H
#define MTRACE_SCAN_ALLOCATOR_OWN_MEMORY_H

#include "scan/scan_types.h"

/*
 * Cuts that memory out of input->ranges, which then points to *ret_ranges; free that after the
 * scan. Returns 0 or -errno, which leaves the input unchanged.
 */
int own_memory_exclude(struct scan_input *input, struct scan_range **ret_ranges);

#endif
