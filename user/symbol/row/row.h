/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes rules as a row. */
#ifndef MTRACE_SYMBOL_ROW_ROW_H
#define MTRACE_SYMBOL_ROW_ROW_H

#include <stdbool.h>

#include "arch/unwind_row.h"
#include "symbol/cfi/program.h"
#include "symbol/row/stop.h"

/* Encodes the rules of a span as a row; row.offset is 0. `rules` may be NULL. Returns the reason if
 * the result is a STOP row. */
enum cfi_stop cfi_row_encode(const struct unwind_abi *abi, const struct cfi_rules *rules,
			     bool signal, struct unwind_row *ret_row);

bool cfi_row_has_lost_bp(const struct unwind_abi *abi, const struct unwind_row *row);

#endif
