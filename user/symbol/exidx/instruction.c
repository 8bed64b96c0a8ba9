// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/exidx/instruction.h"

#define WORD 4

/* How operands are encoded. */
enum operand {
	NONE = 0,
	LOW_MASK,   /* Thumb: registers in 8 bits, and a bit for lr */
	MASK,       /* registers in 16 bits */
	WORDS_7,    /* Thumb: words in the low bits of the upper half */
	WORDS_8_R7, /* the same; r7 = sp + words */
	IS_R7,      /* sp itself */
	IS_FP,
	STORE_8, /* one register, bytes */
	STORE_12,
	STORE_TWO,  /* two, words */
	STORE_PAIR, /* two neighbours, bytes in two parts */
	DOUBLES,    /* words of floating point registers */
	THUMB_IMMEDIATE,
	THUMB_12,
	ARM_IMMEDIATE,
	INTO_REGISTER_THUMB, /* sp + immediate, into any */
	INTO_REGISTER_12,
	INTO_REGISTER_ARM,
	INTO_REGISTER, /* sp, into any */
};

struct instruction_pattern {
	uint32_t mask, value;
	enum exidx_effect effect;
	enum operand operand;
};

/* The first halfword is the upper one. For 16-bit instructions the lower one is undefined. */
static const struct instruction_pattern thumb[] = {
	{0xfe000000, 0xb4000000, EXIDX_PUSH, LOW_MASK},
	{0xff800000, 0xb0800000, EXIDX_FALL, WORDS_7},
	{0xff000000, 0xaf000000, EXIDX_FRAME, WORDS_8_R7}, /* add r7, sp, # */
	{0xffff0000, 0x466f0000, EXIDX_FRAME, IS_R7},
	{0xffff0000, 0x46eb0000, EXIDX_FRAME, IS_FP},
	{0xff000000, 0xbd000000, EXIDX_END, NONE}, /* pop {…, pc} */
	{0xff000000, 0xbc000000, EXIDX_UNDO, NONE},
	{0xff800000, 0xb0000000, EXIDX_MOVE_SP, NONE},
	{0xffff0000, 0x46bd0000, EXIDX_UNDO, NONE},    /* mov sp, r7 */
	{0xffff0000, 0x46dd0000, EXIDX_UNDO, NONE},    /* mov sp, fp */
	{0xff870000, 0x46850000, EXIDX_MOVE_SP, NONE}, /* mov sp, … */
	{0xff870000, 0x44850000, EXIDX_MOVE_SP, NONE}, /* add sp, … */
	{0xff000000, 0x37000000, EXIDX_UNDO, NONE},    /* adds r7, # */
	{0xffff0000, 0x47700000, EXIDX_LINK_RETURN, NONE},
	{0xff870000, 0x47000000, EXIDX_END, NONE}, /* bx */
	{0xf8000000, 0xe0000000, EXIDX_END, NONE}, /* b */
	{0xffff0000, 0xe92d0000, EXIDX_PUSH, MASK},
	{0xffff0f00, 0xf84d0d00, EXIDX_PUSH, STORE_8}, /* str …, [sp, #-…]! */
	{0xffff0000, 0xe96d0000, EXIDX_PUSH, STORE_TWO},
	{0xfbff8f00, 0xf1ad0d00, EXIDX_FALL, THUMB_IMMEDIATE},
	{0xfbff8f00, 0xf2ad0d00, EXIDX_FALL, THUMB_12},
	{0xffbf0e00, 0xed2d0a00, EXIDX_FALL, DOUBLES}, /* vpush */
	{0xfbff8000, 0xf10d0000, EXIDX_FRAME, INTO_REGISTER_THUMB},
	{0xfbff8000, 0xf20d0000, EXIDX_FRAME, INTO_REGISTER_12},
	{0xffff8000, 0xe8bd8000, EXIDX_END, NONE}, /* ldm sp!, {…, pc} */
	{0xffff0000, 0xe8bd0000, EXIDX_UNDO, NONE},
	{0xffffff00, 0xf85dfb00, EXIDX_END, NONE}, /* ldr pc, [sp], # */
	{0xffff0f00, 0xf85d0b00, EXIDX_UNDO, NONE},
	{0xffff0000, 0xe8fd0000, EXIDX_UNDO, NONE},    /* ldrd …, [sp], # */
	{0xffbf0e00, 0xecbd0a00, EXIDX_UNDO, NONE},    /* vpop */
	{0xffff0f00, 0xebad0d00, EXIDX_MOVE_SP, NONE}, /* sub sp, sp, … */
	{0xffff0f00, 0xeb0d0d00, EXIDX_MOVE_SP, NONE},
	{0xfbff8f00, 0xf1070700, EXIDX_UNDO, NONE}, /* add r7, r7, # */
	{0xfbff8f00, 0xf2070700, EXIDX_UNDO, NONE}, /* addw r7, r7, # */
	{0xfbff8f00, 0xf10b0b00, EXIDX_UNDO, NONE}, /* the same of fp */
	{0xfbff8f00, 0xf20b0b00, EXIDX_UNDO, NONE},
	{0xff870000, 0x46070000, EXIDX_UNDO, NONE}, /* mov r7, … */
	{0xfbff8f00, 0xf10b0d00, EXIDX_UNDO, NONE}, /* add sp, fp, # */
	{0xfbff8f00, 0xf1ab0d00, EXIDX_UNDO, NONE},
	{0xfbff8f00, 0xf1070d00, EXIDX_UNDO, NONE}, /* add sp, r7, # */
	{0xfbff8f00, 0xf1a70d00, EXIDX_UNDO, NONE},
	{0xf800d000, 0xf0009000, EXIDX_END, NONE},  /* b */
	{0xf800c000, 0xf000c000, EXIDX_CALL, NONE}, /* bl, blx */
	{0xfff0ffe0, 0xe8d0f000, EXIDX_END, NONE},  /* tbb, tbh */
	{0xff70f000, 0xf850f000, EXIDX_END, NONE},  /* ldr pc */
};

static const struct instruction_pattern arm[] = {
	{0xffff0000, 0xe92d0000, EXIDX_PUSH, MASK},
	{0xffff0000, 0xe52d0000, EXIDX_PUSH, STORE_12}, /* str …, [sp, #-…]! */
	{0xffff00f0, 0xe16d00f0, EXIDX_PUSH, STORE_PAIR},
	{0xfffff000, 0xe24dd000, EXIDX_FALL, ARM_IMMEDIATE},
	{0xffbf0e00, 0xed2d0a00, EXIDX_FALL, DOUBLES},
	{0xffff0000, 0xe28d0000, EXIDX_FRAME, INTO_REGISTER_ARM},
	{0xffff0fff, 0xe1a0000d, EXIDX_FRAME, INTO_REGISTER},
	{0xffff8000, 0xe8bd8000, EXIDX_END, NONE}, /* ldm sp!, {…, pc} */
	{0x0fff8000, 0x08bd8000, EXIDX_NOTHING, NONE},
	{0x0fff0000, 0x08bd0000, EXIDX_UNDO, NONE},
	{0xfffff000, 0xe49df000, EXIDX_END, NONE}, /* ldr pc, [sp], # */
	{0x0ffff000, 0x049df000, EXIDX_NOTHING, NONE},
	{0x0fff0000, 0x049d0000, EXIDX_UNDO, NONE},
	{0x0fff00f0, 0x00cd00d0, EXIDX_UNDO, NONE}, /* ldrd …, [sp], # */
	{0x0fbf0e00, 0x0cbd0a00, EXIDX_UNDO, NONE}, /* vpop */
	{0xffffffff, 0xe12fff1e, EXIDX_LINK_RETURN, NONE},
	{0xffffffff, 0xe1a0f00e, EXIDX_LINK_RETURN, NONE},
	{0x0fffffff, 0x012fff1e, EXIDX_MAYBE_RETURN, NONE},
	{0x0fffffff, 0x01a0f00e, EXIDX_MAYBE_RETURN, NONE},
	{0xfffffff0, 0xe12fff10, EXIDX_END, NONE},     /* bx */
	{0xff000000, 0xea000000, EXIDX_END, NONE},     /* b */
	{0x0f000000, 0x0b000000, EXIDX_CALL, NONE},    /* bl */
	{0xfe000000, 0xfa000000, EXIDX_CALL, NONE},    /* blx */
	{0xfc10f000, 0xe410f000, EXIDX_END, NONE},     /* ldr pc */
	{0xfc00f000, 0xe000f000, EXIDX_END, NONE},     /* add pc, … */
	{0x0fffffff, 0x01a0d00b, EXIDX_UNDO, NONE},    /* mov sp, fp */
	{0x0c0ff000, 0x000bd000, EXIDX_UNDO, NONE},    /* sub sp, fp, … */
	{0x0fff0000, 0x091b0000, EXIDX_UNDO, NONE},    /* ldmdb fp, {…} */
	{0x0c00f000, 0x0000d000, EXIDX_MOVE_SP, NONE}, /* any calculation into sp */
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t rotate_right(uint32_t value, unsigned int by)
{
	return by ? value >> by | value << (32 - by) : value;
}

/* ThumbExpandImm() */
static uint32_t thumb_immediate(uint32_t code)
{
	uint32_t imm12 = (code >> 26 & 1) << 11 | (code >> 12 & 7) << 8 | (code & 0xff);
	uint32_t byte = imm12 & 0xff;

	if (imm12 >> 10)
		return rotate_right((imm12 & 0x7f) | 0x80, imm12 >> 7);
	switch (imm12 >> 8) {
	case 0:
		return byte;
	case 1:
		return byte << 16 | byte;
	case 2:
		return byte << 24 | byte << 8;
	default:
		return byte * 0x01010101;
	}
}

static uint32_t thumb_12(uint32_t code)
{
	return (code >> 26 & 1) << 11 | (code >> 12 & 7) << 8 | (code & 0xff);
}

/* ARMExpandImm() */
static uint32_t arm_immediate(uint32_t code)
{
	return rotate_right(code & 0xff, code >> 8 & 0xf ? (code >> 8 & 0xf) * 2 : 0);
}

static void push_mask(struct exidx_instruction *ret, uint32_t mask)
{
	ret->registers = (uint16_t)mask;
	ret->bytes = (uint32_t)__builtin_popcount(mask) * WORD;
}

static void push_two(struct exidx_instruction *ret, unsigned int first, unsigned int second,
		     uint32_t bytes)
{
	ret->registers = (uint16_t)(1U << first | 1U << second);
	ret->bytes = bytes;
	if (first >= second || second > EXIDX_LR) /* not in push order */
		ret->effect = EXIDX_MOVE_SP;
}

/* register = sp + bytes: sets a frame pointer, or releases stack. */
static void set_frame(struct exidx_instruction *ret, unsigned int into, uint32_t bytes)
{
	ret->frame_register = (uint8_t)into;
	ret->bytes = bytes;
	if (into == EXIDX_SP)
		ret->effect = EXIDX_MOVE_SP;
	else if (into != EXIDX_R7 && into != EXIDX_FP)
		ret->effect = EXIDX_NOTHING;
}

static void read_push(uint32_t code, enum operand operand, struct exidx_instruction *ret)
{
	switch (operand) {
	case LOW_MASK:
		push_mask(ret, (code >> 16 & 0xff) | (code >> 24 & 1) << EXIDX_LR);
		break;
	case MASK:
		push_mask(ret, code & 0xffff);
		break;
	case STORE_8:
		ret->registers = (uint16_t)(1U << (code >> 12 & 0xf));
		ret->bytes = code & 0xff;
		break;
	case STORE_12:
		ret->registers = (uint16_t)(1U << (code >> 12 & 0xf));
		ret->bytes = code & 0xfff;
		break;
	case STORE_TWO:
		push_two(ret, code >> 12 & 0xf, code >> 8 & 0xf, (code & 0xff) * WORD);
		break;
	default: /* STORE_PAIR */
		push_two(ret, code >> 12 & 0xf, (code >> 12 & 0xf) + 1,
			 (code >> 4 & 0xf0) | (code & 0xf));
	}
}

static void read_fall(uint32_t code, enum operand operand, struct exidx_instruction *ret)
{
	switch (operand) {
	case WORDS_7:
		ret->bytes = (code >> 16 & 0x7f) * WORD;
		break;
	case DOUBLES:
		ret->bytes = (code & 0xff) * WORD;
		break;
	case THUMB_IMMEDIATE:
		ret->bytes = thumb_immediate(code);
		break;
	case THUMB_12:
		ret->bytes = thumb_12(code);
		break;
	default: /* ARM_IMMEDIATE */
		ret->bytes = arm_immediate(code);
	}
}

static void read_frame(uint32_t code, enum operand operand, struct exidx_instruction *ret)
{
	switch (operand) {
	case WORDS_8_R7:
		set_frame(ret, EXIDX_R7, (code >> 16 & 0xff) * WORD);
		break;
	case IS_R7:
		set_frame(ret, EXIDX_R7, 0);
		break;
	case IS_FP:
		set_frame(ret, EXIDX_FP, 0);
		break;
	case INTO_REGISTER_THUMB:
		set_frame(ret, code >> 8 & 0xf, thumb_immediate(code));
		break;
	case INTO_REGISTER_12:
		set_frame(ret, code >> 8 & 0xf, thumb_12(code));
		break;
	case INTO_REGISTER_ARM:
		set_frame(ret, code >> 12 & 0xf, arm_immediate(code));
		break;
	default: /* INTO_REGISTER */
		set_frame(ret, code >> 12 & 0xf, 0);
	}
}

static struct exidx_instruction match(const struct instruction_pattern *patterns, size_t count,
				      uint32_t code)
{
	struct exidx_instruction ret = {.effect = EXIDX_NOTHING};

	while (count && (code & patterns->mask) != patterns->value) {
		patterns++;
		count--;
	}
	if (!count)
		return ret;
	ret.effect = patterns->effect;
	if (ret.effect == EXIDX_PUSH)
		read_push(code, patterns->operand, &ret);
	else if (ret.effect == EXIDX_FALL)
		read_fall(code, patterns->operand, &ret);
	else if (ret.effect == EXIDX_FRAME)
		read_frame(code, patterns->operand, &ret);
	return ret;
}

static uint32_t half(const uint8_t *code)
{
	return code[0] | (uint32_t)code[1] << 8;
}

struct exidx_instruction exidx_decode(const uint8_t *code, size_t left, bool is_thumb)
{
	uint32_t low = left >= 4 ? half(code + 2) : 0;
	struct exidx_instruction ret;

	if (is_thumb) {
		ret = match(thumb, COUNT(thumb), half(code) << 16 | low);
		ret.size = half(code) >= 0xe800 ? 4 : 2;
	} else {
		ret = match(arm, COUNT(arm), low << 16 | half(code));
		ret.size = 4;
	}
	if (ret.size > left)
		ret = (struct exidx_instruction){.size = (uint8_t)left};
	return ret;
}
