/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes the CFA part of a row. */
#ifndef MTRACE_SYMBOL_ROW_ROW_CFA_H
#define MTRACE_SYMBOL_ROW_ROW_CFA_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/cfi/expression.h"
#include "symbol/row/stop.h"

/* Zeroes the rest of the row. On failure the row is unchanged. */
enum cfi_stop cfi_row_encode_cfa(const struct unwind_abi *abi, const struct cfi_location *cfa,
				 struct unwind_row *row);

/* Converts bytes to words. Returns false for a fraction of a word, and for more than `max`. */
bool cfi_row_words(const struct unwind_abi *abi, int64_t bytes, int64_t max, int64_t *ret_words);

#endif
