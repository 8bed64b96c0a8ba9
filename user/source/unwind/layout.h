/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layout of unwind tables in the two arrays that the BPF programs search (bpf/unwind.bpf.h):
 * rows, one module after the other, and pages, each of which gives the range of rows to search for
 * the offsets in it.
 *
 * Both arrays only grow. Their contents are never moved or changed, because a program may be
 * searching them. They may be in any memory; this code does not depend on BPF.
 */
#ifndef MTRACE_SOURCE_UNWIND_LAYOUT_H
#define MTRACE_SOURCE_UNWIND_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "base/map64.h"
#include "base/vec.h"
#include "bpf/abi.h"
#include "symbol/cfi_table.h"

struct unwind_layout {
	struct unwind_row *rows; /* owned by the caller */
	uint32_t row_count;
	uint32_t row_capacity;
	struct unwind_page *pages; /* owned by the caller; page 0 means none and is unused */
	uint32_t page_count;
	uint32_t page_capacity;
	struct map64 of_module; /* module id → index into files */
	VEC(struct unwind_file) files;
};

/* Initializes a layout in two arrays, which must outlive it. */
void unwind_layout_init(struct unwind_layout *layout, struct unwind_row *rows,
			uint32_t row_capacity, struct unwind_page *pages, uint32_t page_capacity);
void unwind_layout_free(struct unwind_layout *layout);

/* Returns true and its place if the module was added; `pages` is 0 if it has no table. */
bool unwind_layout_find(const struct unwind_layout *layout, uint32_t module,
			struct unwind_file *ret_file);

/* Looks up the row that covers an offset of the module, like the BPF programs do. */
bool unwind_layout_row(const struct unwind_layout *layout, uint32_t module, uint64_t offset,
		       struct unwind_row *ret_row);

/*
 * Adds a new module with its table. A module without rows, or for which there is no room, gets a
 * file with `pages` 0 for good. Returns 0 or -ENOMEM.
 */
int unwind_layout_add(struct unwind_layout *layout, uint32_t module, const struct cfi_table *table,
		      struct unwind_file *ret_file);

#endif
