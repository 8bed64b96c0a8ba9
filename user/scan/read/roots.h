/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects the memory of a process that a scan searches for pointers. See roots.c. */
#ifndef MTRACE_SCAN_READ_ROOTS_H
#define MTRACE_SCAN_READ_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "os/process/maps.h"
#include "os/ptrace/freeze.h"
#include "scan/scan_types.h"

enum range_kind {
	RANGE_PRIVATE, /* only the process's own pages can hold a pointer */
	RANGE_SHARED,  /* others may write to it, and pages may exist that are not mapped */
};

struct roots {
	VEC(struct scan_range) ranges;
	VEC(uint8_t) kinds;     /* enum range_kind for each range */
	VEC(uint32_t) mappings; /* index in the maps for each range */
	VEC(struct scan_image) images;
	uint64_t dead_stack_bytes; /* below stack pointers */
	uint64_t device_bytes;     /* mapped from devices; never read */
};

/*
 * All-zero memory is an empty set. `stopped`: `threads` has all threads of the process, and all of
 * them are stopped. Returns 0 or -ENOMEM.
 */
int roots_find(const struct proc_maps *maps, const struct thread_registers *threads,
	       size_t thread_count, bool stopped, struct roots *ret_roots);
void roots_free(struct roots *roots);

#endif
