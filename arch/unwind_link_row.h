/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How rows describe saved registers on processors with a link register. Read by arch/unwind_link.h,
 * which explains them, and written by user/symbol/row/row_link.c.
 */
#ifndef MTRACE_ARCH_UNWIND_LINK_ROW_H
#define MTRACE_ARCH_UNWIND_LINK_ROW_H

#include "arch/unwind_row.h"

enum unwind_saved {
	UNWIND_KEPT = 0, /* still in its register */
	UNWIND_SAVED,
	UNWIND_LOST, /* overwritten, or saved where no row can express; never the link register */
};

/* FIXED and RECORD: `kinds` has the kind of the CFA, how the frame pointer is saved, and flags. */
#define UNWIND_ROW_BP_MASK    0x30
#define UNWIND_ROW_LINK_SAVED 0x40
#define UNWIND_ROW_IN_SCRATCH 0x80 /* FIXED: the return address is in the scratch register */
#define UNWIND_ROW_FROM_BASE                                                \
	0x80 /* of RECORD: bp_offset is not from the CFA, but from its base \
	      */

#define UNWIND_LINK_KINDS(cfa, bp) ((abi_u8)((cfa) | (bp) << 4))

/* PUSHED: 12 bits, the upper four of which are in `kinds`. Each field is the number of words below
 * the CFA; 0: still in its register. */
#define UNWIND_PUSHED_LINK_BITS    3
#define UNWIND_PUSHED_BP_SHIFT     3
#define UNWIND_PUSHED_SECOND_SHIFT 7
#define UNWIND_PUSHED_LINK_MAX     7
#define UNWIND_PUSHED_MAX          14
#define UNWIND_PUSHED_LOST         15 /* only for the frame pointers */

struct unwind_saves {
	enum unwind_saved link;
	enum unwind_saved bp;
	enum unwind_saved second;
	int is_in_scratch; /* the return address is in the `second` register */
	abi_u64 link_at;   /* addresses */
	abi_u64 bp_at;
	abi_u64 second_at;
};

static __always_inline enum unwind_saved unwind_pushed_saved(unsigned int words)
{
	if (words == UNWIND_PUSHED_LOST)
		return UNWIND_LOST;
	return words ? UNWIND_SAVED : UNWIND_KEPT;
}

static __always_inline unsigned int unwind_row_pushed(const struct unwind_row *row)
{
	return (unsigned int)(row->kinds >> 4) << 8 | (abi_u8)row->bp_offset;
}

static __always_inline struct unwind_saves unwind_pushed_saves(const struct unwind_abi *abi,
							       const struct unwind_row *row,
							       abi_u64 cfa)
{
	unsigned int bits = unwind_row_pushed(row);
	unsigned int link = bits & UNWIND_PUSHED_LINK_MAX;
	unsigned int bp = bits >> UNWIND_PUSHED_BP_SHIFT & 15;
	unsigned int second = bits >> UNWIND_PUSHED_SECOND_SHIFT & 15;

	return (struct unwind_saves){
		.link = link ? UNWIND_SAVED : UNWIND_KEPT,
		.bp = unwind_pushed_saved(bp),
		.second = unwind_pushed_saved(second),
		.link_at = cfa - (abi_u64)link * abi->word,
		.bp_at = cfa - (abi_u64)bp * abi->word,
		.second_at = cfa - (abi_u64)second * abi->word,
	};
}

/* `base` is the register that the CFA was computed from. */
static __always_inline struct unwind_saves unwind_link_saves(const struct unwind_abi *abi,
							     const struct unwind_row *row,
							     abi_u64 base, abi_u64 cfa)
{
	int is_fixed = abi->link == UNWIND_LINK_FIXED;
	abi_u64 place = row->kinds & UNWIND_ROW_FROM_BASE && !is_fixed ? base : cfa;
	struct unwind_saves saves = {};

	if (abi->link == UNWIND_LINK_PUSHED)
		return unwind_pushed_saves(abi, row, cfa);
	saves.bp = (enum unwind_saved)((row->kinds & UNWIND_ROW_BP_MASK) >> 4);
	saves.link = row->kinds & UNWIND_ROW_LINK_SAVED ? UNWIND_SAVED : UNWIND_KEPT;
	saves.bp_at = place + (abi_u64)((long long)row->bp_offset * abi->word);
	saves.link_at =
		is_fixed ? cfa + (abi_u64)(long long)abi->return_offset : saves.bp_at + abi->word;
	saves.is_in_scratch = is_fixed && row->kinds & UNWIND_ROW_IN_SCRATCH;
	saves.second = is_fixed ? UNWIND_LOST : UNWIND_KEPT;
	return saves;
}

#endif
