// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Encodes rules as rows on processors with a link register (arch/unwind_link.h).
 */
#include "symbol/row/row_link.h"

#include "arch/unwind_link_row.h"
#include "symbol/cfi/expression.h"
#include "symbol/row/row_cfa.h"
#include "symbol/row/stop.h"

/* Where the caller's value of a register is: still in the register, at an offset from the CFA, or
 * somewhere that no row can express. */
struct saved {
	enum unwind_saved how;
	int64_t offset; /* bytes */
};

static struct saved saved_of(const struct cfi_rule *rule)
{
	switch (rule->kind) {
	case CFI_RULE_NONE: /* callee-saved by the ABI, or the link register itself */
	case CFI_RULE_SAME:
		return (struct saved){.how = UNWIND_KEPT};
	case CFI_RULE_AT_CFA:
		return (struct saved){.how = UNWIND_SAVED, .offset = rule->place.offset};
	default:
		return (struct saved){.how = UNWIND_LOST};
	}
}

/*
 * FIXED and RECORD.
 */

static bool put_place(const struct unwind_abi *abi, int64_t offset, struct unwind_row *row)
{
	int64_t words;

	if (!cfi_row_words(abi, offset, INT8_MAX, &words))
		return false;
	row->bp_offset = (signed char)words;
	return true;
}

static void put_bp(enum unwind_saved how, struct unwind_row *row)
{
	row->kinds = (abi_u8)((row->kinds & ~UNWIND_ROW_BP_MASK) | how << 4);
}

static enum cfi_stop encode_fixed(const struct unwind_abi *abi, const struct cfi_rule *ip,
				  struct saved bp, struct unwind_row *row)
{
	struct saved saved = saved_of(ip), *link = &saved;

	if (ip->kind == CFI_RULE_REGISTER && ip->place.dwarf_register == abi->dwarf_second) {
		link->how = UNWIND_KEPT;
		row->kinds |= UNWIND_ROW_IN_SCRATCH;
	}
	if (link->how == UNWIND_LOST ||
	    (link->how == UNWIND_SAVED && link->offset != abi->return_offset))
		return CFI_STOP_RETURN;
	if (bp.how == UNWIND_SAVED && !put_place(abi, bp.offset, row))
		bp.how = UNWIND_LOST;
	put_bp(bp.how, row);
	if (link->how == UNWIND_SAVED)
		row->kinds |= UNWIND_ROW_LINK_SAVED;
	return CFI_STOP_NONE;
}

/* Encodes the offset from the CFA or, if that does not fit, from the register that the CFA is
 * computed from. */
static bool put_pair(const struct unwind_abi *abi, int64_t offset, struct unwind_row *row)
{
	if (put_place(abi, offset, row))
		return true;
	if (unwind_row_cfa(row) & UNWIND_CFA_LOAD)
		return false;
	row->kinds |= UNWIND_ROW_FROM_BASE;
	return put_place(abi, offset + row->cfa_offset * abi->word, row);
}

static enum cfi_stop encode_record(const struct unwind_abi *abi, const struct saved *link,
				   struct saved bp, struct unwind_row *row)
{
	int64_t pair = link->offset - abi->word;

	if (link->how == UNWIND_LOST)
		return CFI_STOP_RETURN;
	if (link->how == UNWIND_SAVED) {
		if (bp.how == UNWIND_SAVED && bp.offset != pair)
			bp.how = UNWIND_LOST;
		row->kinds |= UNWIND_ROW_LINK_SAVED;
		if (!put_pair(abi, pair, row))
			return CFI_STOP_RETURN;
	} else if (bp.how == UNWIND_SAVED && !put_pair(abi, bp.offset, row)) {
		bp.how = UNWIND_LOST;
		row->kinds &= (abi_u8)~UNWIND_ROW_FROM_BASE;
	}
	put_bp(bp.how, row);
	return CFI_STOP_NONE;
}

/* PUSHED. */

/* How many words below the CFA the register is saved; `lost` if that does not fit. */
static unsigned int pushed_words(const struct unwind_abi *abi, const struct saved *saved,
				 int64_t max, unsigned int lost)
{
	int64_t words = -saved->offset / abi->word;

	if (saved->how == UNWIND_KEPT)
		return 0;
	return saved->how == UNWIND_SAVED && saved->offset % abi->word == 0 && words > 0 &&
			       words <= max
		       ? (unsigned int)words
		       : lost;
}

static enum cfi_stop encode_pushed(const struct unwind_abi *abi, const struct saved *link,
				   const struct saved *bp, const struct saved *second,
				   struct unwind_row *row)
{
	unsigned int lost = UNWIND_PUSHED_LOST;
	unsigned int bits = pushed_words(abi, link, UNWIND_PUSHED_LINK_MAX, lost);

	if (bits == lost)
		return CFI_STOP_RETURN;
	bits |= pushed_words(abi, bp, UNWIND_PUSHED_MAX, lost) << UNWIND_PUSHED_BP_SHIFT;
	bits |= pushed_words(abi, second, UNWIND_PUSHED_MAX, lost) << UNWIND_PUSHED_SECOND_SHIFT;
	row->kinds |= (abi_u8)(bits >> 8 << 4);
	row->bp_offset = (signed char)(abi_u8)bits;
	return CFI_STOP_NONE;
}

/*
 * Signal frames. Only PowerPC's kernel has CFI for them: it saves a pointer to the registers.
 */

static bool is_saved_at(const struct unwind_abi *abi, const struct cfi_rule *rule, int64_t pointer,
			int offset)
{
	return rule->kind == CFI_RULE_AT_PLACE && rule->place.form == CFI_FORM_LOAD_ADD &&
	       rule->place.dwarf_register == abi->dwarf_sp && rule->place.offset == pointer &&
	       rule->place.extra == (uint64_t)abi->signal_sp + (uint64_t)offset;
}

static enum cfi_stop encode_signal(const struct unwind_abi *abi, const struct cfi_rules *rules,
				   struct unwind_row *row)
{
	const struct cfi_location *cfa = &rules->cfa;
	int64_t words;

	if (!abi->signal_sp || cfa->form != CFI_FORM_LOAD_AT ||
	    cfa->dwarf_register != abi->dwarf_sp || cfa->extra != (uint64_t)abi->signal_sp ||
	    !cfi_row_words(abi, cfa->offset, INT16_MAX, &words) ||
	    !is_saved_at(abi, &rules->registers[CFI_IP], cfa->offset, abi->signal_ip) ||
	    !is_saved_at(abi, &rules->registers[CFI_BP], cfa->offset, abi->signal_bp))
		return CFI_STOP_SIGNAL;
	*row = (struct unwind_row){.kinds = UNWIND_CFA_SIGNAL_AT, .cfa_offset = (short)words};
	return CFI_STOP_NONE;
}

enum cfi_stop cfi_row_encode_link(const struct unwind_abi *abi, const struct cfi_rules *rules,
				  bool signal, struct unwind_row *row)
{
	struct saved link = saved_of(&rules->registers[CFI_IP]);
	struct saved bp = saved_of(&rules->registers[CFI_BP]);
	struct saved second = saved_of(&rules->registers[CFI_SECOND]);
	enum cfi_stop stop;

	if (signal)
		return encode_signal(abi, rules, row);
	if (rules->registers[CFI_SP].kind != CFI_RULE_NONE)
		return CFI_STOP_SP;
	stop = cfi_row_encode_cfa(abi, &rules->cfa, row);
	if (stop)
		return stop;
	switch (abi->link) {
	case UNWIND_LINK_FIXED:
		return encode_fixed(abi, &rules->registers[CFI_IP], bp, row);
	case UNWIND_LINK_RECORD:
		return encode_record(abi, &link, bp, row);
	default:
		return encode_pushed(abi, &link, &bp, &second, row);
	}
}
