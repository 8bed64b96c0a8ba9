// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arm code without unwind tables. The first byte selects the instruction set and the place of a
 * symbol.
 */
#include "fuzz.h"

#include <string.h>

#include "symbol/exidx/flow.h"

static void check_rows(const struct exidx_flow *flow, uint32_t size)
{
	const struct unwind_row *row;

	vec_each (row, &flow->rows) {
		enum unwind_cfa kind = unwind_row_cfa(row);

		require(row->offset <= size, "rows are of the code");
		require(row == flow->rows.items || row->offset > row[-1].offset,
			"rows are in order");
		require(kind == UNWIND_CFA_SP || kind == UNWIND_CFA_BP ||
				kind == UNWIND_CFA_SECOND || kind == UNWIND_CFA_GAP ||
				kind == UNWIND_CFA_END,
			"the CFA's kind is one of Arm's");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exidx_start start;
	struct exidx_flow_code code;
	struct exidx_flow flow;
	uint8_t *copy;

	if (size < 2 || size > EXIDX_FLOW_MAX)
		return 0;
	start = (struct exidx_start){.at = data[0] & 0x7e, .is_thumb = data[0] & 1, .size = 8};
	copy = malloc(size - 1);
	require(copy, "there is memory");
	memcpy(copy, data + 1, size - 1);
	code = (struct exidx_flow_code){
		.bytes = copy,
		.size = (uint32_t)size - 1,
		.starts = &start,
		.start_count = data[0] >> 7,
		.is_thumb = data[0] & 1,
	};
	require(!exidx_flow_follow(&code, &flow), "there is memory");
	check_rows(&flow, code.size);
	exidx_flow_free(&flow);
	free(copy);
	return 0;
}
