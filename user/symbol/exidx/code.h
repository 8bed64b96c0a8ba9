/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows for code of which only is known what holds at its calls, from its instructions.
 *
 * Decoded are those by which compilers make and undo a frame, in ARM and in Thumb. A prologue is
 * believed if it arrives at just the frame that is known of the calls; that also tells the
 * instruction set. Behind a prologue the frame stands until an instruction undoes it; from there
 * to the next jump that is always taken nothing is said, and behind such a jump the frame stands
 * again. Blocks that contradict that (another prologue, a return by the link register) are of
 * another function, or of one that makes its frame late: nothing is said of them either.
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
 * Of code [start, end) of the file, whose first byte is a function's first: the rows, to be freed
 * by the caller. `rules` and `row` say the same of its calls. 0 or -ENOMEM.
 */
int exidx_code_rows(const uint8_t *file, uint32_t start, uint32_t end,
		    const struct cfi_rules *rules, const struct unwind_row *row,
		    struct exidx_rows *ret_rows);

#endif
