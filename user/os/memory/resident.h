/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory usage of a process or of a range, and available memory of the machine. */
#ifndef MTRACE_OS_MEMORY_RESIDENT_H
#define MTRACE_OS_MEMORY_RESIDENT_H

#include <stdint.h>
#include <sys/types.h>

/* Bytes that the process has in memory, including shared pages. Returns 0 or -errno (-ESRCH). */
int resident_bytes(pid_t pid, uint64_t *ret_bytes);

struct pagemap;

struct resident_range {
	uint64_t present; /* bytes in memory */
	uint64_t swapped;
};

/* Measures [start, end) without touching it. Returns 0 or -errno. */
int resident_range(struct pagemap *pagemap, uint64_t start, uint64_t end,
		   struct resident_range *ret_range);
/* Bytes that the machine can provide without swapping. Returns 0 or -errno. */
int resident_available(uint64_t *ret_bytes);

#endif
