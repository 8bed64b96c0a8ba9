/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SYMBOL_CFI_EXTENT_H
#define MTRACE_SYMBOL_CFI_EXTENT_H

#include <stddef.h>
#include <stdint.h>

/* The part of the file that an FDE describes. */
struct cfi_extent {
	uint32_t start; /* file offsets */
	uint32_t end;
	uint32_t fde; /* index */
};

/* Sorts by start. Stable, in linear time. Returns 0 or -ENOMEM. */
int cfi_extents_sort(struct cfi_extent *items, size_t count);

#endif
