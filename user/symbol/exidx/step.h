/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An instruction of Arm for whoever follows the flow of control: what it does to the frame, all of
 * it (instruction.h knows the start of frames only), and where it goes.
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
	EXIDX_DOES_PUSH, /* of `registers`, the lowest at the lowest address; sp falls by `bytes` */
	EXIDX_DOES_POP,  /* likewise */
	EXIDX_DOES_MOVE, /* sp rises by `bytes` */
	EXIDX_DOES_FRAME,     /* `base` is sp + `bytes` */
	EXIDX_DOES_BASE,      /* `base` rises by `bytes` */
	EXIDX_DOES_LOSE_BASE, /* `base` is anything */
	EXIDX_DOES_RESTORE,   /* sp is `base` + `bytes` */
	EXIDX_DOES_LOSE_SP,   /* sp is anything */
};

enum exidx_goes {
	EXIDX_GOES_ON = 0,
	EXIDX_GOES_TO,      /* `target` */
	EXIDX_GOES_CALLING, /* and returns */
	EXIDX_GOES_BACK,    /* to the link register */
	EXIDX_GOES_AWAY,    /* nobody knows where */
};

struct exidx_step {
	enum exidx_does does;
	enum exidx_goes goes;
	uint8_t size;
	uint8_t condition; /* EXIDX_ALWAYS, or another: perhaps it is not executed */
	uint8_t block; /* of Thumb's IT: its mask, and `condition` is the block's first; else 0 */
	uint8_t base;
	uint16_t registers; /* by bit; with that of pc it returns */
	int32_t bytes;
	bool has_target; /* of a call: some go by a register */
	uint32_t target; /* from the start of the code */
	uint32_t literal,
		literal_size; /* data that it loads, likewise; of no bytes if it does not */
};

/* The instruction at `at` of code [0, size), where at least 2 bytes are left. Targets may lie
 * anywhere. */
struct exidx_step exidx_step_thumb(const uint8_t *code, uint32_t at, uint32_t size);
struct exidx_step exidx_step_arm(const uint8_t *code, uint32_t at, uint32_t size);

#endif
