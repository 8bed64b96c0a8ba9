/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Derives rows for code whose frame is only known at its calls, from its instructions.
 *
 * Only the ARM and Thumb instructions by which compilers make and undo frames are decoded. A
 * prologue is accepted if it arrives at exactly the frame that is known at the calls; this also
 * tells the instruction set. After a prologue, the frame is taken to exist until an instruction
 * undoes it. From there to the next unconditional jump nothing is known, and after that jump the
 * frame is taken to exist again. Blocks that contradict this (another prologue, a return by the
 * link register) belong to another function, or to one that makes its frame late: nothing is known
 * about them either.
 */
#ifndef MTRACE_SYMBOL_EXIDX_CODE_H
#define MTRACE_SYMBOL_EXIDX_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "base/vec.h"
#include "symbol/cfi/program.h"

struct exidx_rows {
	VEC(struct unwind_row) list;
};

/*
 * Returns the rows of the code [start, end) of a file, which starts with the first byte of a
 * function. The caller frees the rows. `rules` and `row` both describe the frame at its calls.
 * Returns 0 or -ENOMEM.
 */
int exidx_code_rows(const uint8_t *file, uint32_t start, uint32_t end,
		    const struct cfi_rules *rules, const struct unwind_row *row,
		    struct exidx_rows *ret_rows);

#endif
