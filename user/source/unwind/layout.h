/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How unwind tables lie in the two arrays that the BPF programs search (bpf/unwind.bpf.h): rows,
 * those of one module behind those of another, and pages, of which each says between which two
 * rows to search for an offset in it.
 *
 * Both arrays only grow. What was laid out is never moved or changed, since a program may be
 * searching it. They may be any memory: here nothing is known of BPF.
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
	struct unwind_row *rows; /* the owner's */
	uint32_t row_count;
	uint32_t row_capacity;
	struct unwind_page *pages; /* the owner's; page 0 means none, and is left free */
	uint32_t page_count;
	uint32_t page_capacity;
	struct map64 of_module; /* module id → index into files */
	VEC(struct unwind_file) files;
};

/* Over two arrays, which must outlive it. */
void unwind_layout_init(struct unwind_layout *layout, struct unwind_row *rows,
			uint32_t row_capacity, struct unwind_page *pages, uint32_t page_capacity);
void unwind_layout_free(struct unwind_layout *layout);

/* Was the module added? Then its place; a file of pages 0 if it has no table. */
bool unwind_layout_find(const struct unwind_layout *layout, uint32_t module,
			struct unwind_file *ret_file);

/* The row that holds at an offset of the module, searched as the BPF programs do. */
bool unwind_layout_row(const struct unwind_layout *layout, uint32_t module, uint64_t offset,
		       struct unwind_row *ret_row);

/*
 * Add a module that is not known yet, with its table. One without rows, or for which there is no
 * room, gets a file of pages 0, for good. 0 or -ENOMEM.
 */
int unwind_layout_add(struct unwind_layout *layout, uint32_t module, const struct cfi_table *table,
		      struct unwind_file *ret_file);

#endif
