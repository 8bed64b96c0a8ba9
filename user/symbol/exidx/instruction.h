/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes the Arm instructions that make and undo frames, and those that leave a function.
 *
 * Source: Arm Architecture Reference Manual, ARMv7-A and ARMv7-R edition (DDI 0406C), A5, A6, A8.
 */
#ifndef MTRACE_SYMBOL_EXIDX_INSTRUCTION_H
#define MTRACE_SYMBOL_EXIDX_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXIDX_R7 7
#define EXIDX_FP 11
#define EXIDX_SP 13
#define EXIDX_LR 14
#define EXIDX_PC 15

enum exidx_effect {
	EXIDX_NOTHING = 0, /* no effect on frames */
	EXIDX_PUSH,        /* pushes `registers`, the lowest at the lowest address; sp -= `bytes` */
	EXIDX_FALL,        /* sp -= `bytes` */
	EXIDX_FRAME,       /* `frame_register` = sp + `bytes` */
	EXIDX_MOVE_SP,     /* sp changes in another way */
	EXIDX_UNDO,        /* restores registers */
	EXIDX_CALL,        /* calls a fixed address */
	EXIDX_END,         /* always goes elsewhere */
	EXIDX_LINK_RETURN, /* always returns by the link register */
	EXIDX_MAYBE_RETURN, /* the same, conditionally */
};

struct exidx_instruction {
	enum exidx_effect effect;
	uint8_t size;
	uint8_t frame_register;
	uint16_t registers; /* bit mask */
	uint32_t bytes;
};

/* Decodes one instruction. `left` is the number of available bytes, at least 2. */
struct exidx_instruction exidx_decode(const uint8_t *code, size_t left, bool is_thumb);

#endif
