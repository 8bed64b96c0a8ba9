// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/cfi_row.h"

/* Bytes to words; false if it is no whole number of them, or does not fit. */
static bool to_words(const struct unwind_abi *abi, int64_t bytes, int64_t max, int64_t *ret_words)
{
	*ret_words = bytes / abi->word;
	return bytes % abi->word == 0 && *ret_words >= -max - 1 && *ret_words <= max;
}

/* The row's kinds by form: from sp, and from bp. UNWIND_CFA_STOP where there is none. */
static const struct {
	enum unwind_cfa from_sp;
	enum unwind_cfa from_bp;
} cfa_kinds[] = {
	[CFI_FORM_OTHER] = {UNWIND_CFA_STOP, UNWIND_CFA_STOP},
	[CFI_FORM_PLAIN] = {UNWIND_CFA_SP, UNWIND_CFA_BP},
	[CFI_FORM_LOAD] = {UNWIND_CFA_SP_LOAD, UNWIND_CFA_BP_LOAD},
	[CFI_FORM_LOAD_ADD] = {UNWIND_CFA_SP_LOAD_WORD, UNWIND_CFA_BP_LOAD_WORD},
	[CFI_FORM_PLT] = {UNWIND_CFA_PLT, UNWIND_CFA_STOP},
};

static enum cfi_stop encode_cfa(const struct unwind_abi *abi, const struct cfi_location *cfa,
				struct unwind_row *row)
{
	bool from_bp = cfa->dwarf_register == abi->dwarf_bp;
	enum unwind_cfa kind =
		from_bp ? cfa_kinds[cfa->form].from_bp : cfa_kinds[cfa->form].from_sp;
	int64_t words;

	if (kind == UNWIND_CFA_STOP || (cfa->form == CFI_FORM_LOAD_ADD && cfa->extra != abi->word))
		return CFI_STOP_CFA_FORM;
	if (!from_bp && cfa->dwarf_register != abi->dwarf_sp)
		return CFI_STOP_CFA_REGISTER;
	if (!to_words(abi, cfa->offset, INT16_MAX, &words))
		return CFI_STOP_CFA_RANGE;
	row->cfa_offset = (short)words;
	row->kinds = UNWIND_KINDS(kind, UNWIND_BP_SAME);
	return CFI_STOP_NONE;
}

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
	    !to_words(abi, rule->place.offset, INT8_MAX, &words))
		kind = UNWIND_BP_LOST;
	row->kinds = UNWIND_KINDS(unwind_row_cfa(row), kind);
	row->bp_offset = (signed char)(kind == UNWIND_BP_LOST ? 0 : words);
}

static bool is_saved_at(const struct cfi_rule *rule, uint64_t dwarf_register, int64_t offset)
{
	return rule->kind == CFI_RULE_AT_PLACE && rule->place.form == CFI_FORM_PLAIN &&
	       rule->place.dwarf_register == dwarf_register && rule->place.offset == offset;
}

/* The kernel's frame: sp saved at sp + offset, ip and bp at fixed distances from there. */
static enum cfi_stop encode_signal(const struct unwind_abi *abi, const struct cfi_rules *rules,
				   struct unwind_row *row)
{
	const struct cfi_location *cfa = &rules->cfa;
	const struct cfi_rule *sp = &rules->registers[CFI_SP];
	int64_t words;

	if (!abi->signal_ip || cfa->form != CFI_FORM_LOAD || cfa->dwarf_register != abi->dwarf_sp ||
	    !to_words(abi, cfa->offset, INT16_MAX, &words) ||
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
	stop = encode_cfa(abi, &rules->cfa, row);
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
	} else {
		stop = signal ? encode_signal(abi, rules, ret_row)
			      : encode_call(abi, rules, ret_row);
	}
	if (stop)
		*ret_row = (struct unwind_row){.kinds = UNWIND_CFA_STOP};
	return stop;
}

#define CALL_LENGTH_MAX 7 /* FF, ModRM, SIB, displacement; prefixes do not matter for the end */

/* Bytes of an instruction FF with this ModRM byte and, where there is one, SIB byte. */
static size_t indirect_length(uint8_t modrm, uint8_t sib)
{
	uint8_t mod = modrm >> 6, base = modrm & 7;
	size_t length = 2;

	if (mod == 3)
		return length;
	if (base == 4) {
		length++;
		base = sib & 7;
	}
	if (mod == 1)
		return length + 1;
	return mod == 2 || base == 5 ? length + 4 : length;
}

/* Bytes of the call that these may be, 0 if they are none. */
static size_t call_length(const uint8_t *code, size_t available)
{
	size_t length = 0;

	if (code[0] == 0xe8)
		length = 5;
	else if (code[0] == 0xff && available > 1 && (code[1] >> 3 & 7) == 2)
		length = indirect_length(code[1], available > 2 ? code[2] : 0);
	return length <= available ? length : 0;
}

bool cfi_x86_has_call_end(const uint8_t *file, size_t start, size_t end)
{
	size_t at = start < CALL_LENGTH_MAX ? 0 : start - CALL_LENGTH_MAX + 1;

	for (; at < end; at++) {
		size_t length = (file[at] | 0x17) == 0xff ? call_length(file + at, end - at) : 0;

		if (length && at + length > start)
			return true;
	}
	return false;
}
