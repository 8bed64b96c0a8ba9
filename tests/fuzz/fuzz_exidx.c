// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program of .ARM.exidx, and code that may belong to its function. The first byte of the input is
 * the length of the program, which is followed by the code. (fuzz_cfi tests whole files.)
 */
#include "fuzz.h"

#include <string.h>

#include "arch/unwind_link_row.h"
#include "symbol/row/stop.h"
#include "symbol/exidx/code.h"
#include "symbol/exidx/program.h"

#define CODE_START 8 /* other data comes first in the file */

static void check_row(const struct unwind_row *row)
{
	enum unwind_cfa kind = unwind_row_cfa(row);

	require(kind == UNWIND_CFA_SP || kind == UNWIND_CFA_BP || kind == UNWIND_CFA_SECOND ||
			kind == UNWIND_CFA_STOP || kind == UNWIND_CFA_SIGNAL,
		"the CFA's kind is one of Arm's");
	require(kind != UNWIND_CFA_STOP || (!row->cfa_offset && !row->bp_offset),
		"who refuses says no more");
	require(kind != UNWIND_CFA_SIGNAL || row->cfa_offset >= 0, "registers lie above sp");
}

static void check_rows(const struct exidx_rows *rows, uint32_t start, uint32_t end)
{
	const struct unwind_row *row;

	require(rows->list.count && rows->list.items[0].offset == start, "all code has a row");
	vec_each (row, &rows->list) {
		require(row->offset < end, "rows are of the code");
		require(row == rows->list.items || row->offset > row[-1].offset,
			"rows are in order");
		check_row(row);
	}
}

static void check_code(const uint8_t *code, size_t size, const struct cfi_rules *rules,
		       const struct unwind_row *row)
{
	struct exidx_rows rows = {0};
	uint8_t *file = malloc(size + CODE_START);

	require(file, "there is memory");
	memcpy(file + CODE_START, code, size);
	require(!exidx_code_rows(file, CODE_START, CODE_START + (uint32_t)size, rules, row, &rows),
		"there is memory");
	check_rows(&rows, CODE_START, CODE_START + (uint32_t)size);
	vec_free(&rows.list);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_rules rules;
	struct unwind_row row;
	enum cfi_stop stop;
	size_t length;

	if (!size)
		return 0;
	length = data[0] < size - 1 ? data[0] : size - 1;
	stop = exidx_program_row(data + 1, length, &rules, &row);
	check_row(&row);
	require((stop != CFI_STOP_NONE) == (unwind_row_cfa(&row) == UNWIND_CFA_STOP),
		"a STOP has a reason");
	if (!stop && unwind_row_cfa(&row) != UNWIND_CFA_SIGNAL && size - 1 - length)
		check_code(data + 1 + length, size - 1 - length, &rules, &row);
	return 0;
}
