/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much memory a process has, where it is, and how much there is left. */
#ifndef MTRACE_OS_MEMORY_RESIDENT_H
#define MTRACE_OS_MEMORY_RESIDENT_H

#include <stdint.h>
#include <sys/types.h>

/* Of the process, shared pages that it has mapped included: 0 or -errno (-ESRCH). */
int resident_bytes(pid_t pid, uint64_t *ret_bytes);

struct pagemap;

struct resident_range {
	uint64_t present; /* bytes in memory */
	uint64_t swapped;
};

/* Of [start, end), without touching it: 0 or -errno. */
int resident_range(struct pagemap *pagemap, uint64_t start, uint64_t end,
		   struct resident_range *ret_range);
/* What the machine can still give without swapping: 0 or -errno. */
int resident_available(uint64_t *ret_bytes);

#endif
