/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arm's own tables for unwinding, .ARM.exidx and .ARM.extab, compiled into rows.
 *
 * An index entry describes the code from its address up to the next entry's: not at all ("cannot
 * unwind", which linkers also write for code that came without a description), or by a short
 * program that restores what the function has saved. That program is right at the function's calls,
 * not within its prologue or epilogue. So:
 *
 * - A pruned table, which is only asked about calls, has a row for an entry.
 * - A full table has that row where the function's instructions show that it holds, and rows for
 * the prologue if its instructions do just what the program undoes (code.h). What remains
 * stops.
 *
 * Linkers merge neighbours that have equal programs: an entry may describe many functions.
 *
 * Source: Exception Handling ABI for the Arm Architecture, 5 and 10.
 */
#ifndef MTRACE_SYMBOL_EXIDX_EXIDX_H
#define MTRACE_SYMBOL_EXIDX_EXIDX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "base/vec.h"
#include "symbol/cfi/object.h"
#include "symbol/row/stop.h"

#define EXIDX_ENTRY_MAX   (1 << 20)
#define EXIDX_PROGRAM_MAX 1024 /* bytes; the format ends before */

struct exidx {
	VEC(struct unwind_row) rows; /* by offset, rising; a gap is in front and behind */
};

/* Of a file without them no rows. 0 or -ENOMEM; counts grow. */
int exidx_compile(const struct cfi_object *object, bool full, struct cfi_counts *counts,
		  struct exidx *ret_exidx);
void exidx_free(struct exidx *exidx);

/* The row at a file offset, and up to where (at most `end`) it holds. */
struct unwind_row exidx_row(const struct exidx *exidx, uint32_t offset, uint32_t end,
			    uint32_t *ret_end);

#endif
