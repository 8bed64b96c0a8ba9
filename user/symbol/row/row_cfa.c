// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/row/row_cfa.h"

#include "symbol/cfi/expression.h"
#include "symbol/row/stop.h"

bool cfi_row_words(const struct unwind_abi *abi, int64_t bytes, int64_t max, int64_t *ret_words)
{
	*ret_words = bytes / abi->word;
	return bytes % abi->word == 0 && *ret_words >= -max - 1 && *ret_words <= max;
}

/* The CFA kinds for each form, based on sp and on bp. UNWIND_CFA_STOP: no row can express it. */
static const struct {
	enum unwind_cfa from_sp;
	enum unwind_cfa from_bp;
} cfa_kinds[] = {
	[CFI_FORM_OTHER] = {UNWIND_CFA_STOP, UNWIND_CFA_STOP},
	[CFI_FORM_PLAIN] = {UNWIND_CFA_SP, UNWIND_CFA_BP},
	[CFI_FORM_LOAD] = {UNWIND_CFA_SP_LOAD, UNWIND_CFA_BP_LOAD},
	[CFI_FORM_LOAD_ADD] = {UNWIND_CFA_SP_LOAD_WORD, UNWIND_CFA_BP_LOAD_WORD},
	[CFI_FORM_LOAD_AT] = {UNWIND_CFA_STOP, UNWIND_CFA_STOP},
	[CFI_FORM_PLT] = {UNWIND_CFA_PLT, UNWIND_CFA_STOP},
};

static enum unwind_cfa cfa_kind(const struct unwind_abi *abi, const struct cfi_location *cfa)
{
	enum unwind_cfa kind = cfa->dwarf_register == abi->dwarf_bp ? cfa_kinds[cfa->form].from_bp
								    : cfa_kinds[cfa->form].from_sp;

	if (cfa->form == CFI_FORM_LOAD_ADD && cfa->extra != abi->word)
		return UNWIND_CFA_STOP;
	/* No code on processors with a link register is known to need these. */
	return abi->link && kind & UNWIND_CFA_ADD_WORD && kind < UNWIND_CFA_END ? UNWIND_CFA_STOP
										: kind;
}

static bool is_second(const struct unwind_abi *abi, uint64_t dwarf_register)
{
	return abi->link == UNWIND_LINK_PUSHED && dwarf_register == abi->dwarf_second;
}

enum cfi_stop cfi_row_encode_cfa(const struct unwind_abi *abi, const struct cfi_location *cfa,
				 struct unwind_row *row)
{
	enum unwind_cfa kind = cfa_kind(abi, cfa);
	int64_t words;

	if (kind == UNWIND_CFA_STOP)
		return CFI_STOP_CFA_FORM;
	if (is_second(abi, cfa->dwarf_register)) {
		if (cfa->form != CFI_FORM_PLAIN)
			return CFI_STOP_CFA_FORM;
		kind = UNWIND_CFA_SECOND;
	} else if (cfa->dwarf_register != abi->dwarf_bp && cfa->dwarf_register != abi->dwarf_sp) {
		return CFI_STOP_CFA_REGISTER;
	}
	if (!cfi_row_words(abi, cfa->offset, INT16_MAX, &words))
		return CFI_STOP_CFA_RANGE;
	*row = (struct unwind_row){
		.cfa_offset = (short)words,
		.kinds = UNWIND_KINDS(kind, UNWIND_BP_SAME),
	};
	return CFI_STOP_NONE;
}
