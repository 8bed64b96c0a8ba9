/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes Arm instructions to follow the control flow: their complete effect on the frame
 * (instruction.h only knows how frames start), and where they go.
 *
 * Source: Arm Architecture Reference Manual, ARMv7-A and ARMv7-R edition (DDI 0406C), A5, A6, A8.
 */
#ifndef MTRACE_SYMBOL_EXIDX_STEP_H
#define MTRACE_SYMBOL_EXIDX_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXIDX_ALWAYS 14 /* the condition that always holds */

enum exidx_does {
	EXIDX_DOES_NOTHING = 0,
	EXIDX_DOES_PUSH,  /* pushes `registers`, the lowest at the lowest address; sp -= `bytes` */
	EXIDX_DOES_POP,   /* pops `registers`; sp += `bytes` */
	EXIDX_DOES_MOVE,  /* sp += `bytes` */
	EXIDX_DOES_FRAME, /* `base` = sp + `bytes` */
	EXIDX_DOES_BASE,  /* `base` += `bytes` */
	EXIDX_DOES_LOSE_BASE, /* `base` becomes unknown */
	EXIDX_DOES_RESTORE,   /* sp = `base` + `bytes` */
	EXIDX_DOES_LOSE_SP,   /* sp becomes unknown */
};

enum exidx_goes {
	EXIDX_GOES_ON = 0,
	EXIDX_GOES_TO,      /* to `target` */
	EXIDX_GOES_CALLING, /* calls, and continues */
	EXIDX_GOES_BACK,    /* returns by the link register */
	EXIDX_GOES_AWAY,    /* to an unknown place */
};

struct exidx_step {
	enum exidx_does does;
	enum exidx_goes goes;
	uint8_t size;
	uint8_t condition; /* other than EXIDX_ALWAYS: may not be executed */
	uint8_t block;     /* Thumb's IT: its mask; `condition` is the first one; otherwise 0 */
	uint8_t base;
	uint16_t registers; /* bit mask; if it includes pc, it returns */
	int32_t bytes;
	bool has_target; /* of a call: false if it goes through a register */
	uint32_t target; /* from the start of the code */
	uint32_t literal,
		literal_size; /* data that it loads: offset in the code, and bytes; size 0: none */
};

/* Decode the instruction at offset `at` of code [0, size), with at least 2 bytes left. Targets may
 * lie outside the code. */
struct exidx_step exidx_step_thumb(const uint8_t *code, uint32_t at, uint32_t size);
struct exidx_step exidx_step_arm(const uint8_t *code, uint32_t at, uint32_t size);

#endif
