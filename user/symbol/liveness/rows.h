/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cursor over the CFI rules of a function. */
#ifndef MTRACE_SYMBOL_LIVENESS_ROWS_H
#define MTRACE_SYMBOL_LIVENESS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/liveness/code.h"
#include "symbol/liveness/verdict.h"

struct liveness_rows {
	struct unwind_abi abi;
	struct cfi_rules initial;
	struct cfi_program program;
	struct cfi_span span;
};

/* The CFA at an instruction: bp or sp, plus offset. */
struct liveness_cfa {
	bool by_bp;
	int32_t offset;
};

/*
 * Starts before the first row. Besides the registers of the ABI, tracks the register with the DWARF
 * number `also` (as CFI_SECOND); 0: none. The CFI must outlive the cursor. Returns false for
 * invalid CFI and for signal frames.
 */
bool liveness_rows_start(struct liveness_rows *rows, const struct liveness_code *code,
			 const struct cfi_fde *fde, uint8_t also);

/* Moves to the row of a virtual address, which must not descend. Returns false if there is none. */
bool liveness_rows_seek(struct liveness_rows *rows, uint64_t vaddr);

/* The CFA of the current row. Returns false unless it is a call frame with a CFA of the usual
 * form. */
bool liveness_rows_cfa(const struct liveness_rows *rows, struct liveness_cfa *ret_cfa);

/*
 * Where a function has saved the caller's callee-saved registers, at a virtual address in it:
 * offsets in bytes from the CFA, or 0. Returns false if an offset cannot express it.
 */
bool liveness_rows_saved(const struct liveness_code *code, const struct cfi_fde *fde,
			 uint64_t vaddr, int32_t ret_saved[LIVENESS_SAVED]);

#endif
