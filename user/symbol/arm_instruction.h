/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of Arm that make and undo frames, and those that leave a function.
 *
 * Source: Arm Architecture Reference Manual, ARMv7-A and ARMv7-R edition (DDI 0406C), A5, A6, A8.
 */
#ifndef MTRACE_SYMBOL_ARM_INSTRUCTION_H
#define MTRACE_SYMBOL_ARM_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARM_R7 7
#define ARM_FP 11
#define ARM_SP 13
#define ARM_LR 14
#define ARM_PC 15

enum arm_effect {
	ARM_NOTHING = 0, /* on frames */
	ARM_PUSH,        /* of `registers`, the lowest at the lowest address; sp falls by `bytes` */
	ARM_FALL,        /* sp falls by `bytes` */
	ARM_FRAME,       /* `frame_register` is sp + `bytes` */
	ARM_MOVE_SP,     /* sp changes otherwise */
	ARM_UNDO,        /* registers are restored */
	ARM_CALL,        /* of an address that it tells */
	ARM_END,         /* goes elsewhere, always */
	ARM_LINK_RETURN, /* returns by the link register, always */
	ARM_MAYBE_RETURN, /* the same by a condition */
};

struct arm_instruction {
	enum arm_effect effect;
	uint8_t size;
	uint8_t frame_register;
	uint16_t registers; /* by bit */
	uint32_t bytes;
};

/* The instruction of so many bytes that are left, at least 2. */
struct arm_instruction arm_decode(const uint8_t *code, size_t left, bool is_thumb);

#endif
