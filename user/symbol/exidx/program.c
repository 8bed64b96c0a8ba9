// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs the programs of .ARM.exidx and .ARM.extab (Exception Handling ABI for the Arm Architecture,
 * 10.3).
 *
 * A program moves a virtual stack pointer (vsp) up the frame and pops registers. Running it
 * symbolically gives the vsp at which each register of interest was popped, in words relative to
 * the register that vsp started from. The final vsp is the CFA.
 */
#include "symbol/row/stop.h"
#include "symbol/exidx/program.h"
#include "symbol/row/row.h"

#define R7  7
#define FP  11
#define SP  13
#define LR  14
#define PC  15
#define ALL 16 /* registers */

#define VSP_MAX (1 << 24) /* words; no real program goes further */

struct state {
	const uint8_t *at, *end;
	unsigned int base; /* the register that vsp started from */
	int32_t vsp;       /* words from the base */
	int32_t places[ALL];
	uint16_t popped; /* bit mask of registers that have a place */
	bool finished;
	enum cfi_stop stop;
};

static uint8_t next_byte(struct state *state)
{
	if (state->at == state->end) {
		state->stop = CFI_STOP_PROGRAM;
		return 0;
	}
	return *state->at++;
}

static void move(struct state *state, int64_t words)
{
	int64_t vsp = state->vsp + words;

	if (vsp < -VSP_MAX || vsp > VSP_MAX)
		state->stop = CFI_STOP_CFA_RANGE;
	else
		state->vsp = (int32_t)vsp;
}

static void pop(struct state *state, unsigned int mask)
{
	for (unsigned int i = 0; i < ALL; i++)
		if (mask & 1U << i) {
			state->places[i] = state->vsp;
			move(state, 1);
		}
	state->popped |= (uint16_t)mask;
}

/*
 * Handlers, selected by the first byte.
 */

static void run_add(struct state *state, uint8_t code)
{
	move(state, (code & 0x3f) + 1);
}

static void run_subtract(struct state *state, uint8_t code)
{
	move(state, -((code & 0x3f) + 1));
}

/* An empty mask means "refuse to unwind". */
static void run_pop_mask(struct state *state, uint8_t code)
{
	unsigned int mask = (unsigned int)(code & 0xf) << 8 | next_byte(state);

	if (!mask)
		state->stop = CFI_STOP_RETURN;
	pop(state, mask << 4);
}

/* Registers popped earlier were relative to the old base, so there must be none. */
static void run_set_vsp(struct state *state, uint8_t code)
{
	state->base = code & 0xf;
	state->vsp = 0;
	if (state->popped || (state->base != R7 && state->base != FP))
		state->stop = CFI_STOP_CFA_REGISTER;
}

static void run_pop_range(struct state *state, uint8_t code)
{
	unsigned int mask = (0xffU >> (7 - (code & 7))) << 4;

	pop(state, mask | (code & 8 ? 1U << LR : 0));
}

static void run_finish(struct state *state, uint8_t code)
{
	(void)code;
	state->finished = true;
}

static void run_pop_low(struct state *state, uint8_t code)
{
	unsigned int mask = next_byte(state);

	(void)code;
	if (!mask || mask > 0xf)
		state->stop = CFI_STOP_PROGRAM;
	pop(state, mask);
}

static void run_add_far(struct state *state, uint8_t code)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	(void)code;
	do {
		byte = next_byte(state);
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 35);
	move(state, (int64_t)value + 0x204 / 4);
}

/* Double registers of two words each, and one word that FSTMX adds. */
static void run_pop_fstmx(struct state *state, uint8_t code)
{
	(void)code;
	move(state, 2 * ((next_byte(state) & 0xf) + 1) + 1);
}

static void run_pop_fstmx_8(struct state *state, uint8_t code)
{
	move(state, 2 * ((code & 7) + 1) + 1);
}

static void run_pop_doubles(struct state *state, uint8_t code)
{
	(void)code;
	move(state, 2 * ((next_byte(state) & 0xf) + 1));
}

static void run_pop_doubles_8(struct state *state, uint8_t code)
{
	move(state, 2 * ((code & 7) + 1));
}

static void run_pop_wcgr(struct state *state, uint8_t code)
{
	unsigned int mask = next_byte(state);

	(void)code;
	if (!mask || mask > 0xf)
		state->stop = CFI_STOP_PROGRAM;
	move(state, __builtin_popcount(mask));
}

/* The authentication code of the return address is also on the stack. */
static void run_pop_authentication(struct state *state, uint8_t code)
{
	(void)code;
	move(state, 1);
}

static void run_nothing(struct state *state, uint8_t code)
{
	(void)state;
	(void)code;
}

/* The first match applies. Spare codes have no entry. */
static const struct program_instruction {
	uint8_t mask, value;
	void (*run)(struct state *state, uint8_t code);
} instructions[] = {
	{0xc0, 0x00, run_add},         {0xc0, 0x40, run_subtract},
	{0xf0, 0x80, run_pop_mask},    {0xf0, 0x90, run_set_vsp},
	{0xf0, 0xa0, run_pop_range},   {0xff, 0xb0, run_finish},
	{0xff, 0xb1, run_pop_low},     {0xff, 0xb2, run_add_far},
	{0xff, 0xb3, run_pop_fstmx},   {0xff, 0xb4, run_pop_authentication},
	{0xff, 0xb5, run_nothing}, /* vsp is the modifier for the authentication */
	{0xf8, 0xb8, run_pop_fstmx_8}, {0xff, 0xc6, run_pop_doubles},   /* of iWMMXt */
	{0xff, 0xc7, run_pop_wcgr},    {0xf8, 0xc0, run_pop_doubles_8}, /* of iWMMXt */
	{0xfe, 0xc8, run_pop_doubles}, {0xf8, 0xd0, run_pop_doubles_8},
};

static void run(struct state *state)
{
	uint8_t code = next_byte(state);

	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++)
		if ((code & instructions[i].mask) == instructions[i].value) {
			instructions[i].run(state, code);
			return;
		}
	state->stop = CFI_STOP_PROGRAM;
}

/*
 * Rows.
 */

static bool has(const struct state *state, unsigned int reg)
{
	return state->popped & 1U << reg;
}

/* All registers were saved, as the kernel does in a signal frame: sp, lr and pc come last. */
static enum cfi_stop signal_row(const struct state *state, struct unwind_row *row)
{
	int32_t at = state->places[SP];

	if (state->base != SP || !has(state, PC) || !has(state, LR) || !has(state, FP) ||
	    !has(state, R7) || state->places[PC] != at + 2 || state->places[LR] != at + 1 ||
	    state->places[FP] != at - 2 || state->places[R7] != at - 6 || at < 0 || at > INT16_MAX)
		return CFI_STOP_SIGNAL;
	*row = (struct unwind_row){.kinds = UNWIND_CFA_SIGNAL, .cfa_offset = (short)at};
	return CFI_STOP_NONE;
}

static struct cfi_rule rule_of(const struct state *state, unsigned int reg)
{
	struct cfi_rule rule = {.kind = CFI_RULE_NONE};

	if (has(state, reg)) {
		rule.kind = CFI_RULE_AT_CFA;
		rule.place.offset = 4 * ((int64_t)state->places[reg] - state->vsp);
	}
	return rule;
}

static struct cfi_rules rules_of(const struct state *state)
{
	struct cfi_rules rules = {
		.cfa = {.form = CFI_FORM_PLAIN,
			.dwarf_register = state->base,
			.offset = 4 * (int64_t)state->vsp},
	};

	rules.registers[CFI_IP] = rule_of(state, has(state, PC) ? PC : LR);
	rules.registers[CFI_BP] = rule_of(state, FP);
	rules.registers[CFI_SECOND] = rule_of(state, R7);
	return rules;
}

enum cfi_stop exidx_program_row(const uint8_t *program, size_t size, struct cfi_rules *ret_rules,
				struct unwind_row *ret_row)
{
	struct state state = {.at = program, .end = program + size, .base = SP};
	enum cfi_stop stop;

	*ret_rules = (struct cfi_rules){0};
	*ret_row = (struct unwind_row){.kinds = UNWIND_CFA_STOP};
	while (!state.finished && !state.stop && state.at != state.end)
		run(&state);
	if (state.stop)
		return state.stop;
	if (has(&state, SP))
		return signal_row(&state, ret_row);
	*ret_rules = rules_of(&state);
	stop = cfi_row_encode(&unwind_abi_arm, ret_rules, false, ret_row);
	return stop;
}
