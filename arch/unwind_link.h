/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder's step on processors whose calls leave the return address in the link register:
 * AArch64, Arm, PowerPC. Only functions that call others save it, at different places.
 *
 * So a row has to say more than on x86, in the same 8 bytes: the CFA, and whether the return
 * address is still in the link register or where it was saved. Each processor has its own
 * convention, so the last 12 bits of a row are interpreted according to the ABI (enum unwind_link):
 *
 * FIXED (PowerPC). The caller's frame has a slot for the return address, at return_offset from the
 * CFA. bp_offset says where the frame pointer is saved. Until it reaches the slot, the return
 * address is in a scratch register for a while, which is known if the link register is.
 *
 * RECORD (AArch64). The return address and the frame pointer are saved as a pair anywhere in the
 * frame, which may be large. So bp_offset counts from the CFA or, if a flag is set, from the
 * register that the CFA is based on. If only one of the two is saved, bp_offset is still that of
 * the pair.
 *
 * PUSHED (Arm). Code of two instruction sets, with a frame pointer each, shares a stack: both frame
 * pointers are tracked. A function's first instruction pushes the registers right below the CFA, so
 * 3 + 4 + 4 bits suffice for their distances.
 *
 * The link register is known in the first frame and in frames interrupted by a signal. A caller's
 * link register is unknown, because the call has overwritten it. If a row needs it there, the row
 * does not describe the place of a call, and the stack ends.
 *
 * Return addresses are reduced to addresses. Arm's lowest bit is the instruction set to return to,
 * which the frame keeps as `mode`; AArch64's highest bits may be a signature.
 *
 * The invariants and the requirements for including files are those of arch/unwind.h. The sp may
 * stay the same in one step, by the link register, as a function need not have a frame.
 *
 * Sources: Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64), 6.2.3; DWARF for the
 * Arm 64-bit Architecture, 4.1 and 4.4; Procedure Call Standard for the Arm Architecture (AAPCS32),
 * 6.2.1; Power Architecture 32-bit ABI Supplement 1.0, 3.3; struct sigcontext and struct pt_regs of
 * arch/{arm,arm64,powerpc}/include/uapi/asm.
 */
#ifndef MTRACE_ARCH_UNWIND_LINK_H
#define MTRACE_ARCH_UNWIND_LINK_H

#include "arch/unwind.h"
#include "arch/unwind_link_row.h"

/* The value of a register, or the address where it is saved. */
struct unwind_register {
	abi_u64 value;
	abi_u64 place; /* enum unwind_bp_place */
};

struct unwind_linked {
	struct unwind_frame frame;
	struct unwind_register link;
	struct unwind_register second; /* the second frame pointer; FIXED: the scratch register */
	abi_u64 mode; /* of the code at ip: 1 for Thumb; unknown after a signal frame */
};

static __always_inline enum unwind_result unwind_load(void *ctx, const struct unwind_abi *abi,
						      struct unwind_register *held)
{
	struct unwind_frame frame = {.bp = held->value, .bp_place = held->place};
	enum unwind_result result = unwind_load_bp(ctx, abi, &frame);

	held->value = frame.bp;
	held->place = frame.bp_place;
	return result;
}

static __always_inline void unwind_save_at(struct unwind_register *held, abi_u64 address)
{
	held->value = address;
	held->place = UNWIND_BP_IN_MEMORY;
}

/* The register that the row's CFA is based on. */
static __always_inline enum unwind_result unwind_link_base(void *ctx, const struct unwind_abi *abi,
							   const struct unwind_row *row,
							   struct unwind_linked *linked,
							   abi_u64 *ret_base)
{
	enum unwind_cfa kind = unwind_row_cfa(row);
	enum unwind_result result = UNWIND_CONTINUE;

	*ret_base = linked->frame.sp;
	if (kind == UNWIND_CFA_SECOND) {
		result = unwind_load(ctx, abi, &linked->second);
		*ret_base = linked->second.value;
	} else if (kind & UNWIND_CFA_BASE_BP) {
		result = unwind_load_bp(ctx, abi, &linked->frame);
		*ret_base = linked->frame.bp;
	}
	return result;
}

static __always_inline enum unwind_result unwind_link_cfa(void *ctx, const struct unwind_abi *abi,
							  const struct unwind_row *row,
							  abi_u64 base, abi_u64 *ret_cfa)
{
	enum unwind_cfa kind = unwind_row_cfa(row);
	abi_u64 cfa = base + unwind_words(abi, row->cfa_offset);

	if (abi->word == 4)
		cfa = (abi_u32)cfa;
	*ret_cfa = cfa;
	if (kind >= UNWIND_CFA_END || !(kind & UNWIND_CFA_LOAD))
		return UNWIND_CONTINUE;
	if (unwind_read(ctx, abi, cfa, ret_cfa))
		return UNWIND_UNREADABLE;
	return *ret_cfa ? UNWIND_CONTINUE : UNWIND_END;
}

/* Finds the return address. */
static __always_inline enum unwind_result unwind_link_ip(void *ctx, const struct unwind_abi *abi,
							 const struct unwind_saves *saves,
							 struct unwind_linked *linked,
							 abi_u64 *ret_ip)
{
	struct unwind_register link = saves->is_in_scratch ? linked->second : linked->link;
	enum unwind_result result;

	if (saves->link == UNWIND_SAVED)
		unwind_save_at(&link, saves->link_at);
	result = unwind_load(ctx, abi, &link);
	*ret_ip = link.value;
	return result == UNWIND_NO_BP ? UNWIND_NO_RULE : result;
}

static __always_inline void unwind_pass(struct unwind_register *held, enum unwind_saved saved,
					abi_u64 address)
{
	if (saved == UNWIND_SAVED)
		unwind_save_at(held, address);
	else if (saved == UNWIND_LOST)
		held->place = UNWIND_BP_UNKNOWN;
}

static __always_inline void unwind_link_set_ip(const struct unwind_abi *abi, abi_u64 ip,
					       struct unwind_linked *linked)
{
	linked->mode = ip & abi->mode_bit;
	linked->frame.ip = abi->ip_mask ? ip & abi->ip_mask : ip;
}

/* The kernel wrote all registers of the interrupted code to the stack. */
static __always_inline enum unwind_result unwind_link_signal(void *ctx,
							     const struct unwind_abi *abi,
							     const struct unwind_row *row,
							     struct unwind_linked *linked)
{
	abi_u64 saved = linked->frame.sp + unwind_words(abi, row->cfa_offset);
	abi_u64 ip = 0, sp = 0;

	if (unwind_row_cfa(row) == UNWIND_CFA_SIGNAL_AT) {
		if (unwind_read(ctx, abi, saved, &saved))
			return UNWIND_UNREADABLE;
		saved += (abi_u64)(long long)abi->signal_sp;
	}
	if (unwind_read(ctx, abi, saved, &sp) ||
	    unwind_read(ctx, abi, saved + (abi_u64)(long long)abi->signal_ip, &ip))
		return UNWIND_UNREADABLE;
	linked->frame.sp = sp;
	linked->frame.bp = saved + (abi_u64)(long long)abi->signal_bp;
	linked->frame.bp_place = UNWIND_BP_IN_MEMORY;
	unwind_save_at(&linked->link, saved + (abi_u64)(long long)abi->signal_link);
	unwind_save_at(&linked->second, saved + (abi_u64)(long long)abi->signal_second);
	unwind_link_set_ip(abi, ip, linked);
	return UNWIND_INTERRUPTED;
}

static __always_inline enum unwind_result unwind_link_special(void *ctx,
							      const struct unwind_abi *abi,
							      const struct unwind_row *row,
							      struct unwind_linked *linked)
{
	switch (unwind_row_cfa(row)) {
	case UNWIND_CFA_SIGNAL:
	case UNWIND_CFA_SIGNAL_AT:
		return unwind_link_signal(ctx, abi, row, linked);
	case UNWIND_CFA_END:
		return UNWIND_END;
	case UNWIND_CFA_GAP:
		return UNWIND_NO_TABLE;
	default:
		return UNWIND_NO_RULE;
	}
}

static __always_inline void unwind_link_pass(const struct unwind_saves *saves,
					     struct unwind_linked *linked)
{
	struct unwind_register bp = {linked->frame.bp, linked->frame.bp_place};

	unwind_pass(&bp, saves->bp, saves->bp_at);
	linked->frame.bp = bp.value;
	linked->frame.bp_place = bp.place;
	unwind_pass(&linked->second, saves->second, saves->second_at);
	linked->link.place = UNWIND_BP_UNKNOWN;
}

/* Like unwind_step(), for ABIs with a link register. */
static __always_inline enum unwind_result unwind_link_step(void *ctx, const struct unwind_abi *abi,
							   const struct unwind_row *row,
							   struct unwind_linked *linked)
{
	enum unwind_cfa kind = unwind_row_cfa(row);
	abi_u64 base = 0, cfa = 0, ip = 0;
	struct unwind_saves saves;
	enum unwind_result result;

	if (kind >= UNWIND_CFA_END && kind != UNWIND_CFA_SECOND)
		return unwind_link_special(ctx, abi, row, linked);
	result = unwind_link_base(ctx, abi, row, linked, &base);
	if (result == UNWIND_CONTINUE)
		result = unwind_link_cfa(ctx, abi, row, base, &cfa);
	if (result != UNWIND_CONTINUE)
		return result;
	saves = unwind_link_saves(abi, row, base, cfa);
	if (cfa < linked->frame.sp || (cfa == linked->frame.sp && saves.link == UNWIND_SAVED))
		return UNWIND_NO_PROGRESS;
	result = unwind_link_ip(ctx, abi, &saves, linked, &ip);
	if (result != UNWIND_CONTINUE)
		return result;
	if (!(abi->ip_mask ? ip & abi->ip_mask : ip))
		return UNWIND_END;
	unwind_link_pass(&saves, linked);
	unwind_link_set_ip(abi, ip, linked);
	linked->frame.sp = cfa;
	return UNWIND_CONTINUE;
}

/*
 * Completes a frame from what is known about a caller right after its call has returned: ip, sp and
 * bp are set; `second` is the second frame pointer, if there is one. The link register is unknown;
 * see above.
 */
static __always_inline void unwind_linked_start(const struct unwind_abi *abi, abi_u64 second,
						struct unwind_linked *linked)
{
	linked->frame.bp_place = UNWIND_BP_HELD;
	linked->link.value = 0;
	linked->link.place = UNWIND_BP_UNKNOWN;
	linked->second.value = second;
	linked->second.place = abi->link == UNWIND_LINK_PUSHED ? UNWIND_BP_HELD : UNWIND_BP_UNKNOWN;
	unwind_link_set_ip(abi, linked->frame.ip, linked);
}

/* The step on any processor. If the ABI is a constant, only one of the branches is compiled. */
static __always_inline enum unwind_result unwind_any_step(void *ctx, const struct unwind_abi *abi,
							  const struct unwind_row *row,
							  struct unwind_linked *linked)
{
	return abi->link ? unwind_link_step(ctx, abi, row, linked)
			 : unwind_step(ctx, abi, row, &linked->frame);
}

/*
 * PowerPC: the word at sp is the caller's sp in every function that has called another one (Power
 * Architecture 32-bit ABI Supplement, 3.3.3). The step to try if there is no row, or if the row
 * needs a frame pointer that is lost. The chain ends with 0.
 */
static const struct unwind_row unwind_row_back_chain __attribute__((unused)) = {
	.kinds = UNWIND_LINK_KINDS(UNWIND_CFA_SP_LOAD, UNWIND_LOST) | UNWIND_ROW_LINK_SAVED,
};

/*
 * The step from a frame that is at a call. If its row is unusable, falls back to what PowerPC's ABI
 * guarantees for these frames.
 */
static __always_inline enum unwind_result unwind_call_step(void *ctx, const struct unwind_abi *abi,
							   const struct unwind_row *row,
							   struct unwind_linked *linked)
{
	enum unwind_result result = unwind_any_step(ctx, abi, row, linked);

	if (abi->link != UNWIND_LINK_FIXED ||
	    (result != UNWIND_NO_TABLE && result != UNWIND_NO_RULE && result != UNWIND_NO_BP))
		return result;
	return unwind_link_step(ctx, abi, &unwind_row_back_chain, linked);
}

#endif
