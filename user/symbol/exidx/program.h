/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the programs of .ARM.exidx. */
#ifndef MTRACE_SYMBOL_EXIDX_PROGRAM_H
#define MTRACE_SYMBOL_EXIDX_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/cfi/program.h"
#include "symbol/row/stop.h"

/*
 * Encodes a program as a row. Returns the reason if that is a STOP row, otherwise CFI_STOP_NONE.
 * *ret_rules are the rules that the row was made from; they are empty for signal frames, and
 * usually for STOP rows.
 */
enum cfi_stop exidx_program_row(const uint8_t *program, size_t size, struct cfi_rules *ret_rules,
				struct unwind_row *ret_row);

#endif
