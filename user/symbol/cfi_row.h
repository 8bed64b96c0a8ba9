/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From rules to a row; and which rows a pruned table keeps. */
#ifndef MTRACE_SYMBOL_CFI_ROW_H
#define MTRACE_SYMBOL_CFI_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/cfi.h"
#include "symbol/cfi_program.h"

/* The row of a span (without its offset); rules may be NULL. Returns why it is a STOP, if it is. */
enum cfi_stop cfi_row_encode(const struct unwind_abi *abi, const struct cfi_rules *rules,
			     bool signal, struct unwind_row *ret_row);

/* Can a call end within bytes [start, end) of the file? */
typedef bool cfi_call_test(const uint8_t *file, size_t start, size_t end);
cfi_call_test cfi_x86_has_call_end;

#endif
