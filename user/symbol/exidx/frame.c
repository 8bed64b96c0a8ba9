// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/exidx/frame.h"

#include "symbol/cfi/expression.h"
#include "symbol/row/row.h"
#include "symbol/row/stop.h"
#include "symbol/exidx/instruction.h"

#define WORD      4
#define DEPTH_MAX (1 << 24) /* bytes; no frame is larger */

/* EXIDX_SAVED_COUNT for registers that are not tracked. */
static enum exidx_saved place_of(unsigned int number)
{
	if (number == EXIDX_LR)
		return EXIDX_SAVED_LINK;
	if (number == EXIDX_FP)
		return EXIDX_SAVED_FP;
	return number == EXIDX_R7 ? EXIDX_SAVED_R7 : EXIDX_SAVED_COUNT;
}

static bool set_depth(struct exidx_frame *frame, int64_t depth)
{
	if (depth < 0 || depth > DEPTH_MAX)
		return false;
	frame->depth = (int32_t)depth;
	return true;
}

/* Only the first push of a register saves it; later ones push arguments or align the stack. */
static bool push(struct exidx_frame *frame, const struct exidx_step *step)
{
	int32_t at = frame->depth + step->bytes;

	if (frame->depth == EXIDX_UNKNOWN)
		return !(step->registers & 1U << EXIDX_LR);
	for (unsigned int i = 0; i <= EXIDX_LR; i++) {
		enum exidx_saved place = place_of(i);

		if (!(step->registers & 1U << i))
			continue;
		if (place == EXIDX_SAVED_LINK && frame->is_link_lost)
			return false;
		if (place < EXIDX_SAVED_COUNT && !frame->saved[place])
			frame->saved[place] = at;
		at -= WORD;
	}
	return set_depth(frame, (int64_t)frame->depth + step->bytes);
}

/* A register must be restored from where it was saved; pc is loaded with the saved lr. */
static bool pop_one(struct exidx_frame *frame, unsigned int number, int32_t at)
{
	enum exidx_saved place = place_of(number == EXIDX_PC ? EXIDX_LR : number);

	if (number == frame->base_register)
		frame->base_register = 0;
	if (place == EXIDX_SAVED_COUNT)
		return true;
	if (number == EXIDX_PC || number == EXIDX_LR) {
		if (frame->saved[place] != at)
			return false;
		frame->is_link_lost = false;
	}
	if (frame->saved[place] == at)
		frame->saved[place] = 0;
	return true;
}

static bool pop(struct exidx_frame *frame, const struct exidx_step *step)
{
	int32_t at = frame->depth;

	if (at == EXIDX_UNKNOWN) /* the source is unknown */
		return false;
	for (unsigned int i = 0; i <= EXIDX_PC; i++) {
		if (!(step->registers & 1U << i))
			continue;
		if (at <= 0 || !pop_one(frame, i, at))
			return false;
		at -= WORD;
	}
	return set_depth(frame, (int64_t)frame->depth - step->bytes);
}

static bool move(struct exidx_frame *frame, const struct exidx_step *step)
{
	if (frame->depth == EXIDX_UNKNOWN)
		return true;
	return set_depth(frame, (int64_t)frame->depth - step->bytes);
}

static bool set_base(struct exidx_frame *frame, const struct exidx_step *step)
{
	frame->base_register = frame->depth == EXIDX_UNKNOWN ? 0 : step->base;
	frame->base = frame->base_register ? frame->depth - step->bytes : 0;
	return true;
}

static bool raise_base(struct exidx_frame *frame, const struct exidx_step *step)
{
	if (frame->base_register != step->base)
		return true;
	frame->base -= step->bytes;
	frame->is_ending = true;
	return frame->base >= -DEPTH_MAX && frame->base <= DEPTH_MAX;
}

static bool lose_base(struct exidx_frame *frame, const struct exidx_step *step)
{
	if (frame->base_register == step->base)
		frame->base_register = 0;
	return true;
}

static bool restore(struct exidx_frame *frame, const struct exidx_step *step)
{
	if (!frame->base_register || frame->base_register != step->base)
		return false;
	frame->base_register = 0; /* from here on the frame is relative to sp */
	frame->is_ending = true;
	return set_depth(frame, (int64_t)frame->base - step->bytes);
}

static bool lose_sp(struct exidx_frame *frame, const struct exidx_step *step)
{
	(void)step;
	frame->depth = EXIDX_UNKNOWN;
	return true;
}

static bool nothing(struct exidx_frame *frame, const struct exidx_step *step)
{
	(void)frame;
	(void)step;
	return true;
}

static bool (*const doing[])(struct exidx_frame *frame, const struct exidx_step *step) = {
	[EXIDX_DOES_NOTHING] = nothing, [EXIDX_DOES_PUSH] = push,
	[EXIDX_DOES_POP] = pop,         [EXIDX_DOES_MOVE] = move,
	[EXIDX_DOES_FRAME] = set_base,  [EXIDX_DOES_BASE] = raise_base,
	[EXIDX_DOES_RESTORE] = restore, [EXIDX_DOES_LOSE_BASE] = lose_base,
	[EXIDX_DOES_LOSE_SP] = lose_sp,
};

bool exidx_frame_step(struct exidx_frame *frame, const struct exidx_step *step)
{
	if (step->bytes > DEPTH_MAX || step->bytes < -DEPTH_MAX || !doing[step->does](frame, step))
		return false;
	if (step->goes == EXIDX_GOES_CALLING && !frame->saved[EXIDX_SAVED_LINK])
		frame->is_link_lost = true;
	return true;
}

bool exidx_frame_is_undone(const struct exidx_frame *frame)
{
	for (int i = 0; i < EXIDX_SAVED_COUNT; i++)
		if (frame->saved[i])
			return false;
	return frame->depth == 0 && !frame->is_link_lost;
}

bool exidx_frame_is_equal(const struct exidx_frame *a, const struct exidx_frame *b)
{
	for (int i = 0; i < EXIDX_SAVED_COUNT; i++)
		if (a->saved[i] != b->saved[i])
			return false;
	return a->depth == b->depth && a->is_link_lost == b->is_link_lost;
}

bool exidx_frame_row(const struct exidx_frame *frame, bool is_by_base, struct unwind_row *ret_row)
{
	static const enum cfi_register registers[EXIDX_SAVED_COUNT] = {CFI_IP, CFI_BP, CFI_SECOND};
	bool by_base = is_by_base && frame->base_register;
	struct cfi_rules rules = {
		.cfa =
			{
				.form = CFI_FORM_PLAIN,
				.dwarf_register = by_base ? frame->base_register : EXIDX_SP,
				.offset = by_base ? frame->base : frame->depth,
			},
	};

	if (!frame->saved[EXIDX_SAVED_LINK] || frame->is_ending ||
	    (!by_base && frame->depth == EXIDX_UNKNOWN))
		return false;
	for (int i = 0; i < EXIDX_SAVED_COUNT; i++)
		if (frame->saved[i])
			rules.registers[registers[i]] = (struct cfi_rule){
				.kind = CFI_RULE_AT_CFA,
				.place.offset = -(int64_t)frame->saved[i],
			};
	return cfi_row_encode(&unwind_abi_arm, &rules, false, ret_row) == CFI_STOP_NONE;
}
