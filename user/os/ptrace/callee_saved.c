/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/ptrace/callee_saved.h"

#include "arch/registers.h"

/* Offsets in the general registers, as PTRACE_GETREGSET gives them. */
struct saved_layout {
	uint32_t word;
	uint32_t count;
	uint16_t pc;
	uint16_t saved[CALLEE_SAVED_MAX];
};

static const struct saved_layout layouts[] = {
#if defined(__x86_64__) || defined(__i386__)
	/* user_regs_struct */
	{.word = 8, .count = 6, .pc = 128, .saved = {40, 32, 24, 16, 8, 0}},
	/* user_regs_struct32 */
	{.word = 4, .count = 4, .pc = 48, .saved = {0, 20, 12, 16}},
#endif
	{0},
};

static const struct saved_layout *layout_of(uint32_t word)
{
	for (const struct saved_layout *layout = layouts; layout->word; layout++)
		if (layout->word == word)
			return layout;
	return NULL;
}

bool callee_saved_read(const struct thread_registers *registers, struct callee_saved *ret_saved)
{
	const struct saved_layout *layout = layout_of(registers->word);

	if (!layout || !registers->size)
		return false;
	*ret_saved = (struct callee_saved){
		.pc = registers_word(registers->bytes, layout->pc, layout->word),
		.sp = registers->stack,
		.word = layout->word,
		.count = layout->count,
	};
	for (uint32_t i = 0; i < layout->count; i++) {
		ret_saved->offsets[i] = layout->saved[i];
		ret_saved->values[i] =
			registers_word(registers->bytes, layout->saved[i], layout->word);
	}
	return true;
}
