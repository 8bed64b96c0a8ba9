/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame of Arm, as a function's instructions make and undo it. */
#ifndef MTRACE_SYMBOL_EXIDX_FRAME_H
#define MTRACE_SYMBOL_EXIDX_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/exidx/step.h"

#define EXIDX_UNKNOWN INT32_MIN

enum exidx_saved { EXIDX_SAVED_LINK, EXIDX_SAVED_FP, EXIDX_SAVED_R7, EXIDX_SAVED_COUNT };

/* Zeroed memory is that at a function's first instruction. */
struct exidx_frame {
	int32_t depth;                    /* bytes from sp up to the CFA; EXIDX_UNKNOWN */
	int32_t saved[EXIDX_SAVED_COUNT]; /* bytes below the CFA; 0: in its register */
	int32_t base;                     /* bytes from that register up to the CFA … */
	uint8_t base_register;            /* … 0: none */
	bool is_link_lost;
	bool is_ending; /* sp is, or will be, restored from the base: nothing is called there */
};

/* Behind an instruction; false if no function does that. */
bool exidx_frame_step(struct exidx_frame *frame, const struct exidx_step *step);
/* May a function return, or go to another one, from here? Popping pc is a step before. */
bool exidx_frame_is_undone(const struct exidx_frame *frame);
/* Apart from the base, which is nothing if registers are used otherwise. */
bool exidx_frame_is_equal(const struct exidx_frame *a, const struct exidx_frame *b);
/* By its base, if it is the function's frame pointer. False if it has none: the return address is
 * not on the stack, or the CFA is not known. */
bool exidx_frame_row(const struct exidx_frame *frame, bool is_by_base, struct unwind_row *ret_row);

#endif
