/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory extents that belong to an allocator. */
#ifndef MTRACE_SCAN_ALLOCATOR_EXTENTS_H
#define MTRACE_SCAN_ALLOCATOR_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct owned_extent {
	uint64_t start;
	uint64_t end;
	bool arena; /* a heap follows it */
};

struct owned_extents {
	VEC(struct owned_extent) list; /* in any order; they may overlap */
};

#endif
