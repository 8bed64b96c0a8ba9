// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/exidx/step.h"

#include "symbol/exidx/instruction.h"

#define WORD         4
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The instruction being decoded. */
struct decoding {
	uint32_t code; /* Thumb: the first halfword is the upper one */
	uint32_t at;
	struct exidx_step step;
};

struct step_pattern {
	uint32_t mask, value;
	void (*read)(struct decoding *decoding);
};

static int32_t extend(uint32_t value, unsigned int bits)
{
	uint32_t sign = 1U << (bits - 1);

	return (int32_t)((value ^ sign) - sign);
}

static void go_to(struct decoding *decoding, enum exidx_goes goes, uint32_t from, int32_t distance)
{
	decoding->step.goes = goes;
	decoding->step.has_target = true;
	decoding->step.target = from + (uint32_t)distance;
}

static void call_register(struct decoding *decoding)
{
	decoding->step.goes = EXIDX_GOES_CALLING;
}

static void go_back(struct decoding *decoding)
{
	decoding->step.goes = EXIDX_GOES_BACK;
}

static void go_away(struct decoding *decoding)
{
	decoding->step.goes = EXIDX_GOES_AWAY;
}

static void lose_sp(struct decoding *decoding)
{
	decoding->step.does = EXIDX_DOES_LOSE_SP;
}

static void nothing(struct decoding *decoding)
{
	(void)decoding;
}

static void move(struct decoding *decoding, uint32_t bytes)
{
	decoding->step.does = EXIDX_DOES_MOVE;
	decoding->step.bytes = (int32_t)bytes;
}

static void pop(struct decoding *decoding, uint32_t registers, uint32_t bytes)
{
	decoding->step.does = EXIDX_DOES_POP;
	decoding->step.registers = (uint16_t)registers;
	decoding->step.bytes = (int32_t)bytes;
}

static void pop_mask(struct decoding *decoding, uint32_t mask)
{
	pop(decoding, mask, (uint32_t)__builtin_popcount(mask) * WORD);
	if (mask & 1U << EXIDX_SP)
		lose_sp(decoding);
}

/* Two neighbouring registers, or in Thumb any two, stored in the order of their operands. */
static void pop_two(struct decoding *decoding, uint32_t first, uint32_t second, uint32_t bytes)
{
	pop(decoding, 1U << first | 1U << second, bytes);
	if (first >= second)
		lose_sp(decoding);
}

static void load(struct decoding *decoding, uint32_t place, uint32_t size)
{
	decoding->step.literal = place;
	decoding->step.literal_size = size;
}

/* Converts the result of exidx_decode(), which knows how frames start. */
static void begin(struct exidx_step *step, const struct exidx_instruction *instruction)
{
	if (instruction->bytes > INT32_MAX / 2) {
		step->does = EXIDX_DOES_LOSE_SP;
		return;
	}
	step->registers = instruction->registers;
	step->base = instruction->frame_register;
	step->bytes = (int32_t)instruction->bytes;
	if (instruction->effect == EXIDX_PUSH) {
		step->does = EXIDX_DOES_PUSH;
	} else if (instruction->effect == EXIDX_FALL) {
		step->does = EXIDX_DOES_MOVE;
		step->bytes = -step->bytes;
	} else if (instruction->effect == EXIDX_FRAME) {
		step->does = EXIDX_DOES_FRAME;
	} else if (instruction->effect == EXIDX_MOVE_SP) {
		step->does = EXIDX_DOES_LOSE_SP;
	} else if (instruction->effect == EXIDX_END || instruction->effect == EXIDX_UNDO) {
		step->goes = EXIDX_GOES_AWAY; /* its effect on the frame is not decoded here */
	}
}

static bool match(const struct step_pattern *patterns, size_t count, struct decoding *decoding)
{
	for (size_t i = 0; i < count; i++)
		if ((decoding->code & patterns[i].mask) == patterns[i].value) {
			patterns[i].read(decoding);
			return true;
		}
	return false;
}

/*
 * Thumb.
 */

static uint32_t thumb_12(uint32_t code)
{
	return (code >> 26 & 1) << 11 | (code >> 12 & 7) << 8 | (code & 0xff);
}

/* ThumbExpandImm(), for the forms that compilers use with sp; other forms lose sp. */
static bool thumb_immediate(struct decoding *decoding, uint32_t *ret_value)
{
	uint32_t imm12 = thumb_12(decoding->code), value = (imm12 & 0x7f) | 0x80;

	if (decoding->code & 1U << 25 || imm12 < 0x100) /* plain */
		*ret_value = imm12;
	else if (imm12 >= 0x800 && imm12 >> 7 >= 8)
		*ret_value = value << (32 - (imm12 >> 7));
	else
		lose_sp(decoding);
	return decoding->step.does != EXIDX_DOES_LOSE_SP;
}

static void thumb_add_sp(struct decoding *decoding)
{
	move(decoding, (decoding->code >> 16 & 0x7f) * WORD);
}

static void thumb_add_sp_wide(struct decoding *decoding)
{
	uint32_t value;

	if (thumb_immediate(decoding, &value))
		move(decoding, value);
}

static void thumb_pop(struct decoding *decoding)
{
	pop_mask(decoding, (decoding->code >> 16 & 0xff) | (decoding->code >> 24 & 1) << EXIDX_PC);
}

static void thumb_pop_wide(struct decoding *decoding)
{
	pop_mask(decoding, decoding->code & 0xffff);
}

static void thumb_pop_one(struct decoding *decoding)
{
	pop(decoding, 1U << (decoding->code >> 12 & 0xf), decoding->code & 0xff);
}

static void thumb_pop_two(struct decoding *decoding)
{
	pop_two(decoding, decoding->code >> 12 & 0xf, decoding->code >> 8 & 0xf,
		(decoding->code & 0xff) * WORD);
}

static void pop_doubles(struct decoding *decoding)
{
	move(decoding, (decoding->code & 0xff) * WORD);
}

static void restore(struct decoding *decoding, uint32_t base, uint32_t bytes)
{
	decoding->step.does = EXIDX_DOES_RESTORE;
	decoding->step.base = (uint8_t)base;
	decoding->step.bytes = (int32_t)bytes;
}

static void restore_r7(struct decoding *decoding)
{
	restore(decoding, EXIDX_R7, 0);
}

static void restore_fp(struct decoding *decoding)
{
	restore(decoding, EXIDX_FP, 0);
}

static void thumb_restore_above(struct decoding *decoding)
{
	uint32_t value;

	if (thumb_immediate(decoding, &value))
		restore(decoding, decoding->code >> 16 & 0xf, value);
}

static void thumb_restore_below(struct decoding *decoding)
{
	uint32_t value;

	if (thumb_immediate(decoding, &value))
		restore(decoding, decoding->code >> 16 & 0xf, -value);
}

static void thumb_raise_r7(struct decoding *decoding)
{
	decoding->step.does = EXIDX_DOES_BASE;
	decoding->step.base = EXIDX_R7;
	decoding->step.bytes = (int32_t)(decoding->code >> 16 & 0xff);
}

static void thumb_raise(struct decoding *decoding)
{
	uint32_t value;

	decoding->step.base = decoding->code >> 16 & 0xf;
	if (!thumb_immediate(decoding, &value)) {
		decoding->step.does = EXIDX_DOES_LOSE_BASE;
		return;
	}
	decoding->step.does = EXIDX_DOES_BASE;
	decoding->step.bytes = (int32_t)value;
}

static void lose_r7(struct decoding *decoding)
{
	decoding->step.does = EXIDX_DOES_LOSE_BASE;
	decoding->step.base = EXIDX_R7;
}

static void thumb_branch_if(struct decoding *decoding)
{
	decoding->step.condition = decoding->code >> 24 & 0xf;
	go_to(decoding, EXIDX_GOES_TO, decoding->at + 4,
	      2 * extend(decoding->code >> 16 & 0xff, 8));
}

static void thumb_branch(struct decoding *decoding)
{
	go_to(decoding, EXIDX_GOES_TO, decoding->at + 4,
	      2 * extend(decoding->code >> 16 & 0x7ff, 11));
}

/* CBZ, CBNZ: any condition other than EXIDX_ALWAYS will do */
static void thumb_branch_zero(struct decoding *decoding)
{
	uint32_t code = decoding->code >> 16;

	decoding->step.condition = 0;
	go_to(decoding, EXIDX_GOES_TO, decoding->at + 4,
	      (int32_t)((code >> 9 & 1) << 6 | (code >> 3 & 0x1f) << 1));
}

static void thumb_block(struct decoding *decoding)
{
	decoding->step.block = decoding->code >> 16 & 0xf;
	decoding->step.condition = decoding->code >> 20 & 0xf;
}

static void thumb_branch_if_wide(struct decoding *decoding)
{
	uint32_t code = decoding->code;
	uint32_t distance = (code >> 26 & 1) << 19 | (code >> 11 & 1) << 18 |
			    (code >> 13 & 1) << 17 | (code >> 16 & 0x3f) << 11 | (code & 0x7ff);

	decoding->step.condition = code >> 22 & 0xf;
	go_to(decoding, EXIDX_GOES_TO, decoding->at + 4, 2 * extend(distance, 20));
}

static int32_t thumb_distance(uint32_t code)
{
	uint32_t sign = code >> 26 & 1, high = !((code >> 13 & 1) ^ sign),
		 low = !((code >> 11 & 1) ^ sign);

	return 2 * extend(sign << 23 | high << 22 | low << 21 | (code >> 16 & 0x3ff) << 11 |
				  (code & 0x7ff),
			  24);
}

static void thumb_branch_wide(struct decoding *decoding)
{
	go_to(decoding, EXIDX_GOES_TO, decoding->at + 4, thumb_distance(decoding->code));
}

/* BLX calls ARM code, whose entry is not recorded. */
static void thumb_call(struct decoding *decoding)
{
	if (!(decoding->code & 1U << 12))
		call_register(decoding);
	else
		go_to(decoding, EXIDX_GOES_CALLING, decoding->at + 4,
		      thumb_distance(decoding->code));
}

static void thumb_literal(struct decoding *decoding)
{
	load(decoding, ((decoding->at + 4) & ~3U) + (decoding->code >> 16 & 0xff) * WORD, WORD);
}

static void thumb_literal_wide(struct decoding *decoding)
{
	if (decoding->code >> 12 == 0xf8dff)
		go_away(decoding);
	load(decoding, ((decoding->at + 4) & ~3U) + (decoding->code & 0xfff), WORD);
}

static void thumb_literal_double(struct decoding *decoding)
{
	load(decoding, ((decoding->at + 4) & ~3U) + (decoding->code & 0xff) * WORD, 2 * WORD);
}

static const struct step_pattern thumb[] = {
	{0xff800000, 0xb0000000, thumb_add_sp},
	{0xfe000000, 0xbc000000, thumb_pop},
	{0xffff0000, 0x46bd0000, restore_r7},
	{0xffff0000, 0x46dd0000, restore_fp},
	{0xff000000, 0x37000000, thumb_raise_r7},
	{0xff870000, 0x46070000, lose_r7},
	{0xff800000, 0x47800000, call_register},
	{0xffff0000, 0x47700000, go_back},
	{0xffff0000, 0x46f70000, go_back}, /* mov pc, lr */
	{0xff870000, 0x46870000, go_away},
	{0xff870000, 0x44870000, go_away},
	{0xff000000, 0xde000000, go_away}, /* undefined */
	{0xff000000, 0xdf000000, nothing},
	{0xf0000000, 0xd0000000, thumb_branch_if},
	{0xf8000000, 0xe0000000, thumb_branch},
	{0xf5000000, 0xb1000000, thumb_branch_zero},
	{0xff0f0000, 0xbf000000, nothing},
	{0xff000000, 0xbf000000, thumb_block},
	{0xf8000000, 0x48000000, thumb_literal},
	{0xffff0000, 0xe8bd0000, thumb_pop_wide},
	{0xffff0f00, 0xf85d0b00, thumb_pop_one},
	{0xffff0000, 0xe8fd0000, thumb_pop_two},
	{0xffbf0e00, 0xecbd0a00, pop_doubles},
	{0xfbff8f00, 0xf10d0d00, thumb_add_sp_wide},
	{0xfbff8f00, 0xf20d0d00, thumb_add_sp_wide},
	{0xfbff8f00, 0xf10b0d00, thumb_restore_above},
	{0xfbff8f00, 0xf1070d00, thumb_restore_above},
	{0xfbff8f00, 0xf1ab0d00, thumb_restore_below},
	{0xfbff8f00, 0xf1a70d00, thumb_restore_below},
	{0xfbff8f00, 0xf1070700, thumb_raise},
	{0xfbff8f00, 0xf2070700, thumb_raise},
	{0xfbff8f00, 0xf10b0b00, thumb_raise},
	{0xfbff8f00, 0xf20b0b00, thumb_raise},
	{0xf800d000, 0xf0009000, thumb_branch_wide},
	{0xf800c000, 0xf000c000, thumb_call},
	{0xfff0f000, 0xf7f0a000, go_away}, /* undefined */
	{0xfb80d000, 0xf3808000, nothing}, /* barriers, system registers */
	{0xf800d000, 0xf0008000, thumb_branch_if_wide},
	{0xffff0000, 0xf8df0000, thumb_literal_wide},
	{0xffbf0e00, 0xed9f0a00, thumb_literal_double},
	{0xff70f000, 0xf850f000, go_away}, /* ldr pc */
	{0xfe508000, 0xe8108000, go_away}, /* ldm {…, pc} */
};

static uint32_t half(const uint8_t *code)
{
	return code[0] | (uint32_t)code[1] << 8;
}

#define MOV_R7_SP 0x466f /* begins a frame; the table would take it for any write of r7 */

struct exidx_step exidx_step_thumb(const uint8_t *code, uint32_t at, uint32_t size)
{
	struct exidx_instruction instruction = exidx_decode(code + at, size - at, true);
	uint32_t low = size - at >= 4 ? half(code + at + 2) : 0;
	struct decoding decoding = {
		.code = half(code + at) << 16 | low,
		.at = at,
		.step = {.size = instruction.size, .condition = EXIDX_ALWAYS},
	};

	if (half(code + at) >= 0xe800 && size - at < 4)
		go_away(&decoding);
	else if (half(code + at) == MOV_R7_SP || !match(thumb, COUNT(thumb), &decoding))
		begin(&decoding.step, &instruction);
	return decoding.step;
}

/* ARM. */

/* ARMExpandImm() */
static uint32_t arm_immediate(uint32_t code)
{
	unsigned int by = (code >> 8 & 0xf) * 2;
	uint32_t byte = code & 0xff;

	return by ? byte >> by | byte << (32 - by) : byte;
}

static void arm_add_sp(struct decoding *decoding)
{
	if (arm_immediate(decoding->code) > INT32_MAX / 2)
		lose_sp(decoding);
	else
		move(decoding, arm_immediate(decoding->code));
}

static void arm_pop(struct decoding *decoding)
{
	pop_mask(decoding, decoding->code & 0xffff);
}

static void arm_pop_one(struct decoding *decoding)
{
	pop(decoding, 1U << (decoding->code >> 12 & 0xf), decoding->code & 0xfff);
}

static void arm_pop_two(struct decoding *decoding)
{
	uint32_t first = decoding->code >> 12 & 0xe;

	pop_two(decoding, first, first + 1, (decoding->code >> 4 & 0xf0) | (decoding->code & 0xf));
}

static void arm_restore_above(struct decoding *decoding)
{
	restore(decoding, EXIDX_FP, arm_immediate(decoding->code));
}

static void arm_restore_below(struct decoding *decoding)
{
	restore(decoding, EXIDX_FP, -arm_immediate(decoding->code));
}

static void arm_branch(struct decoding *decoding)
{
	go_to(decoding, EXIDX_GOES_TO, decoding->at + 8, 4 * extend(decoding->code & 0xffffff, 24));
}

static void arm_call(struct decoding *decoding)
{
	go_to(decoding, EXIDX_GOES_CALLING, decoding->at + 8,
	      4 * extend(decoding->code & 0xffffff, 24));
}

/* MOV lr, pc: the call itself is the next instruction. */
static void arm_old_call(struct decoding *decoding)
{
	decoding->step.size = 2 * WORD;
	call_register(decoding);
}

static void arm_literal(struct decoding *decoding)
{
	uint32_t distance = decoding->code & 0xfff;

	if ((decoding->code >> 12 & 0xf) == EXIDX_PC)
		go_away(decoding);
	load(decoding, decoding->at + 8 + (decoding->code & 1U << 23 ? distance : -distance), WORD);
}

static void arm_literal_double(struct decoding *decoding)
{
	load(decoding, decoding->at + 8 + (decoding->code & 0xff) * WORD, 2 * WORD);
}

/* The condition field has been replaced by "always". */
static const struct step_pattern arm[] = {
	{0xffff0000, 0xe8bd0000, arm_pop},           {0xfffff000, 0xe49dd000, lose_sp},
	{0xffff0000, 0xe49d0000, arm_pop_one},       {0xffff10f0, 0xe0cd00d0, arm_pop_two},
	{0xfffff000, 0xe28dd000, arm_add_sp},        {0xfffff000, 0xe28bd000, arm_restore_above},
	{0xfffff000, 0xe24bd000, arm_restore_below}, {0xffffffff, 0xe1a0d00b, restore_fp},
	{0xffbf0e00, 0xecbd0a00, pop_doubles},       {0xffffffff, 0xe12fff1e, go_back},
	{0xffffffff, 0xe1a0f00e, go_back},           {0xfffffff0, 0xe12fff10, go_away},
	{0xfffffff0, 0xe12fff30, call_register},     {0xffffffff, 0xe1a0e00f, arm_old_call},
	{0xff000000, 0xea000000, arm_branch},        {0xff000000, 0xeb000000, arm_call},
	{0xff7f0000, 0xe51f0000, arm_literal},       {0xffbf0e00, 0xed9f0a00, arm_literal_double},
	{0xfe108000, 0xe8108000, go_away}, /* ldm {…, pc} */
	{0xfc10f000, 0xe410f000, go_away}, /* ldr pc */
	{0xfff000f0, 0xe7f000f0, go_away}, /* undefined */
	{0xfdb0f000, 0xe120f000, nothing}, /* hints, the status register */
	{0xfc00f000, 0xe000f000, go_away}, /* any calculation into pc */
};

static void decode_always(struct decoding *decoding)
{
	const uint8_t bytes[WORD] = {
		(uint8_t)decoding->code,
		(uint8_t)(decoding->code >> 8),
		(uint8_t)(decoding->code >> 16),
		(uint8_t)(decoding->code >> 24),
	};
	struct exidx_instruction instruction = exidx_decode(bytes, WORD, false);

	if (!match(arm, COUNT(arm), decoding))
		begin(&decoding->step, &instruction);
}

struct exidx_step exidx_step_arm(const uint8_t *code, uint32_t at, uint32_t size)
{
	struct decoding decoding = {.at = at, .step = {.size = WORD, .condition = EXIDX_ALWAYS}};

	if (size - at < WORD) {
		decoding.step.size = (uint8_t)(size - at);
		go_away(&decoding);
		return decoding.step;
	}
	decoding.code = half(code + at) | half(code + at + 2) << 16;
	if (decoding.code >> 25 == 0x7d) { /* blx of an address: calls Thumb code */
		call_register(&decoding);
	} else if (decoding.code >> 28 != 0xf) {
		decoding.step.condition = (uint8_t)(decoding.code >> 28);
		decoding.code = (decoding.code & 0x0fffffff) | 0xe0000000;
		decode_always(&decoding);
	}
	if (decoding.step.size > size - at)
		decoding.step.size = (uint8_t)(size - at);
	return decoding.step;
}
