// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/row/row.h"

#include "arch/unwind_link_row.h"
#include "symbol/cfi/expression.h"
#include "symbol/row/row_cfa.h"
#include "symbol/row/row_link.h"
#include "symbol/row/stop.h"

static enum unwind_bp bp_kind(const struct unwind_abi *abi, const struct cfi_rule *rule)
{
	switch (rule->kind) {
	case CFI_RULE_NONE: /* callee-saved by the ABI */
	case CFI_RULE_SAME:
		return UNWIND_BP_SAME;
	case CFI_RULE_AT_CFA:
		return UNWIND_BP_AT_CFA;
	case CFI_RULE_AT_PLACE:
		if (rule->place.form == CFI_FORM_PLAIN &&
		    rule->place.dwarf_register == abi->dwarf_bp)
			return UNWIND_BP_AT_BP;
		return UNWIND_BP_LOST;
	default:
		return UNWIND_BP_LOST;
	}
}

static void encode_bp(const struct unwind_abi *abi, const struct cfi_rule *rule,
		      struct unwind_row *row)
{
	enum unwind_bp kind = bp_kind(abi, rule);
	int64_t words = 0;

	if (kind != UNWIND_BP_SAME && kind != UNWIND_BP_LOST &&
	    !cfi_row_words(abi, rule->place.offset, INT8_MAX, &words))
		kind = UNWIND_BP_LOST;
	row->kinds = UNWIND_KINDS(unwind_row_cfa(row), kind);
	row->bp_offset = (signed char)(kind == UNWIND_BP_LOST ? 0 : words);
}

static bool is_saved_at(const struct cfi_rule *rule, uint64_t dwarf_register, int64_t offset)
{
	return rule->kind == CFI_RULE_AT_PLACE && rule->place.form == CFI_FORM_PLAIN &&
	       rule->place.dwarf_register == dwarf_register && rule->place.offset == offset;
}

/* The kernel's signal frame: sp is saved at sp + offset, ip and bp at fixed distances from
 * there. */
static enum cfi_stop encode_signal(const struct unwind_abi *abi, const struct cfi_rules *rules,
				   struct unwind_row *row)
{
	const struct cfi_location *cfa = &rules->cfa;
	const struct cfi_rule *sp = &rules->registers[CFI_SP];
	int64_t words;

	if (!abi->signal_ip || cfa->form != CFI_FORM_LOAD || cfa->dwarf_register != abi->dwarf_sp ||
	    !cfi_row_words(abi, cfa->offset, INT16_MAX, &words) ||
	    !is_saved_at(&rules->registers[CFI_IP], abi->dwarf_sp, cfa->offset + abi->signal_ip) ||
	    !is_saved_at(&rules->registers[CFI_BP], abi->dwarf_sp, cfa->offset + abi->signal_bp) ||
	    (sp->kind != CFI_RULE_NONE && !is_saved_at(sp, abi->dwarf_sp, cfa->offset)))
		return CFI_STOP_SIGNAL;
	row->cfa_offset = (short)words;
	row->kinds = UNWIND_CFA_SIGNAL;
	return CFI_STOP_NONE;
}

static enum cfi_stop encode_call(const struct unwind_abi *abi, const struct cfi_rules *rules,
				 struct unwind_row *row)
{
	const struct cfi_rule *ip = &rules->registers[CFI_IP];
	enum cfi_stop stop;

	if (rules->registers[CFI_SP].kind != CFI_RULE_NONE)
		return CFI_STOP_SP;
	if (ip->kind != CFI_RULE_AT_CFA || ip->place.offset != abi->return_offset)
		return CFI_STOP_RETURN;
	stop = cfi_row_encode_cfa(abi, &rules->cfa, row);
	if (stop)
		return stop;
	encode_bp(abi, &rules->registers[CFI_BP], row);
	if (unwind_row_cfa(row) != UNWIND_CFA_PLT)
		return CFI_STOP_NONE;
	row->bp_offset = (signed char)rules->cfa.extra;
	return unwind_row_bp(row) == UNWIND_BP_SAME ? CFI_STOP_NONE : CFI_STOP_CFA_FORM;
}

enum cfi_stop cfi_row_encode(const struct unwind_abi *abi, const struct cfi_rules *rules,
			     bool signal, struct unwind_row *ret_row)
{
	enum cfi_stop stop;

	*ret_row = (struct unwind_row){0};
	if (!rules) {
		stop = CFI_STOP_PROGRAM;
	} else if (rules->registers[CFI_IP].kind == CFI_RULE_UNDEFINED) {
		ret_row->kinds = UNWIND_CFA_END;
		return CFI_STOP_NONE;
	} else if (abi->link) {
		stop = cfi_row_encode_link(abi, rules, signal, ret_row);
	} else {
		stop = signal ? encode_signal(abi, rules, ret_row)
			      : encode_call(abi, rules, ret_row);
	}
	if (stop)
		*ret_row = (struct unwind_row){.kinds = UNWIND_CFA_STOP};
	return stop;
}

bool cfi_row_has_lost_bp(const struct unwind_abi *abi, const struct unwind_row *row)
{
	struct unwind_saves saves;

	if (!abi->link)
		return unwind_row_bp(row) == UNWIND_BP_LOST;
	saves = unwind_link_saves(abi, row, 0, 0);
	return saves.bp == UNWIND_LOST ||
	       (abi->link == UNWIND_LINK_PUSHED && saves.second == UNWIND_LOST);
}
