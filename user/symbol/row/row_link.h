/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes rules as a row on processors whose calls leave the return address in a register. */
#ifndef MTRACE_SYMBOL_ROW_ROW_LINK_H
#define MTRACE_SYMBOL_ROW_ROW_LINK_H

#include <stdbool.h>

#include "arch/unwind_row.h"
#include "symbol/cfi/program.h"
#include "symbol/row/stop.h"

/*
 * Like cfi_row_encode(), but `rules` must not be NULL and must have a rule for the return address.
 * After a failure the contents of the row are undefined.
 */
enum cfi_stop cfi_row_encode_link(const struct unwind_abi *abi, const struct cfi_rules *rules,
				  bool signal, struct unwind_row *row);

#endif
