/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which memory of a process counts in a scan? See roots.c. */
#ifndef MTRACE_SCAN_READ_ROOTS_H
#define MTRACE_SCAN_READ_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "os/process/maps.h"
#include "os/ptrace/freeze.h"
#include "scan/scan_types.h"

enum range_kind {
	RANGE_PRIVATE, /* only pages of the process's own can hold a pointer */
	RANGE_SHARED,  /* others write there, too, and pages may be there that are not mapped */
};

struct roots {
	VEC(struct scan_range) ranges;
	VEC(uint8_t) kinds;     /* enum range_kind, of each range */
	VEC(uint32_t) mappings; /* index in the maps, of each range */
	VEC(struct scan_image) images;
	uint64_t dead_stack_bytes; /* below the stack pointers */
	uint64_t device_bytes;     /* mapped from devices: never read */
};

/*
 * Zeroed memory is an empty set. `stopped`: the threads are all that there are, and none of them
 * runs. 0 or -ENOMEM.
 */
int roots_find(const struct proc_maps *maps, const struct thread_registers *threads,
	       size_t thread_count, bool stopped, struct roots *ret_roots);
void roots_free(struct roots *roots);

#endif
