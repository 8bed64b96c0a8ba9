/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame of an Arm function, as its instructions make and undo it. */
#ifndef MTRACE_SYMBOL_EXIDX_FRAME_H
#define MTRACE_SYMBOL_EXIDX_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/exidx/step.h"

#define EXIDX_UNKNOWN INT32_MIN

enum exidx_saved { EXIDX_SAVED_LINK, EXIDX_SAVED_FP, EXIDX_SAVED_R7, EXIDX_SAVED_COUNT };

/* Zeroed memory is the frame at a function's first instruction. */
struct exidx_frame {
	int32_t depth;                    /* bytes from sp up to the CFA; EXIDX_UNKNOWN */
	int32_t saved[EXIDX_SAVED_COUNT]; /* bytes below the CFA; 0: still in its register */
	int32_t base;                     /* bytes from the base register up to the CFA */
	uint8_t base_register;            /* 0: none */
	bool is_link_lost;
	bool is_ending; /* sp is being restored from the base: no calls from here on */
};

/* Updates the frame for an instruction. Returns false if no function does that. */
bool exidx_frame_step(struct exidx_frame *frame, const struct exidx_step *step);
/* Returns true if a function may return or tail-call from here. Pop pc before asking. */
bool exidx_frame_is_undone(const struct exidx_frame *frame);
/* Ignores the base: the register may have other uses. */
bool exidx_frame_is_equal(const struct exidx_frame *a, const struct exidx_frame *b);
/* Encodes the frame as a row: relative to its base if `is_by_base` (and it has one), otherwise to
 * sp. Returns false if there is no row: the return address is not on the stack, the CFA is unknown,
 * or the frame is being undone. */
bool exidx_frame_row(const struct exidx_frame *frame, bool is_by_base, struct unwind_row *ret_row);

#endif
