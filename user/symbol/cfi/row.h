/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From rules to a row; and which rows a pruned table keeps. */
#ifndef MTRACE_SYMBOL_CFI_ROW_H
#define MTRACE_SYMBOL_CFI_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/cfi/cfi.h"
#include "symbol/cfi/program.h"

/* The row of a span (without its offset); rules may be NULL. Returns why it is a STOP, if it is. */
enum cfi_stop cfi_row_encode(const struct unwind_abi *abi, const struct cfi_rules *rules,
			     bool signal, struct unwind_row *ret_row);

/*
 * Where the return address is in a register, and may be saved: the same, of rules that are not NULL
 * and tell a return address. On failure the row is anything.
 */
enum cfi_stop cfi_row_encode_link(const struct unwind_abi *abi, const struct cfi_rules *rules,
				  bool signal, struct unwind_row *row);

/* The row's part that tells the CFA; the rest is 0. */
enum cfi_stop cfi_row_encode_cfa(const struct unwind_abi *abi, const struct cfi_location *cfa,
				 struct unwind_row *row);

/* Bytes to words; false if it is no whole number of them, or does not fit. */
bool cfi_row_words(const struct unwind_abi *abi, int64_t bytes, int64_t max, int64_t *ret_words);

bool cfi_row_has_lost_bp(const struct unwind_abi *abi, const struct unwind_row *row);

/* The first place in (start, end] of the file at which a call can end: the offset behind its last
 * byte. CFI_NO_CALL if there is none. */
typedef size_t cfi_call_search(const uint8_t *file, size_t start, size_t end);
cfi_call_search cfi_x86_call_end;
cfi_call_search cfi_aarch64_call_end;
cfi_call_search cfi_arm_call_end; /* in either instruction set */
cfi_call_search cfi_powerpc_call_end;

#define CFI_NO_CALL SIZE_MAX

#endif
