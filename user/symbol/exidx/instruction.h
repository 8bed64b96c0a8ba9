/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of Arm that make and undo frames, and those that leave a function.
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
	EXIDX_NOTHING = 0, /* on frames */
	EXIDX_PUSH,    /* of `registers`, the lowest at the lowest address; sp falls by `bytes` */
	EXIDX_FALL,    /* sp falls by `bytes` */
	EXIDX_FRAME,   /* `frame_register` is sp + `bytes` */
	EXIDX_MOVE_SP, /* sp changes otherwise */
	EXIDX_UNDO,    /* registers are restored */
	EXIDX_CALL,    /* of an address that it tells */
	EXIDX_END,     /* goes elsewhere, always */
	EXIDX_LINK_RETURN,  /* returns by the link register, always */
	EXIDX_MAYBE_RETURN, /* the same by a condition */
};

struct exidx_instruction {
	enum exidx_effect effect;
	uint8_t size;
	uint8_t frame_register;
	uint16_t registers; /* by bit */
	uint32_t bytes;
};

/* The instruction of so many bytes that are left, at least 2. */
struct exidx_instruction exidx_decode(const uint8_t *code, size_t left, bool is_thumb);

#endif
