/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles Arm's own unwind tables, .ARM.exidx and .ARM.extab, into rows.
 *
 * An index entry covers the code from its address up to the next entry. It either says that the
 * code cannot be unwound (linkers also write this for code that came without unwind information),
 * or has a short program that restores what the function has saved. The program is valid at the
 * function's calls, but not in its prologue or epilogue. So:
 *
 * - A pruned table, which is only used for calls, has one row per entry.
 * - A full table has that row where the function's instructions show that it applies, and has rows
 *   for the prologue if its instructions do exactly what the program undoes (code.h). All other
 *   code gets STOP rows.
 *
 * Linkers merge neighbouring entries with equal programs, so an entry may cover many functions.
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
#define EXIDX_PROGRAM_MAX 1024 /* bytes; more than the format allows */

struct exidx {
	VEC(struct unwind_row) rows; /* ascending offsets; gaps at both ends */
};

/* A file without these tables gives no rows. Adds to *counts. Returns 0 or -ENOMEM. */
int exidx_compile(const struct cfi_object *object, bool full, struct cfi_counts *counts,
		  struct exidx *ret_exidx);
void exidx_free(struct exidx *exidx);

/* Returns the row at a file offset, and the offset (at most `end`) up to which it applies. */
struct unwind_row exidx_row(const struct exidx *exidx, uint32_t offset, uint32_t end,
			    uint32_t *ret_end);

#endif
