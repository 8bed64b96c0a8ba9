/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Derives rows for Arm code without unwind information, from its instructions alone.
 *
 * Each function is followed from its first instruction along all paths, and each instruction gets
 * the frame that was made on the way there. The result is accepted if all paths agree: wherever two
 * meet, the frame is the same, and wherever the function returns, the frame is undone and the
 * return address comes from where it was saved. Otherwise the function gets no rows, as a wrong
 * frame is worse than a stack that ends. Code that no path reaches (targets of jump tables) gets
 * none either.
 *
 * Function starts are found by symbols, by calls from functions that were followed, and by
 * instructions that save the link register, which no function does twice. The latter is needed
 * because C libraries are stripped of their local symbols. A function that is found only that way
 * and never returns is accepted only if it comes after code that never falls through.
 *
 * Two places are recognised as outermost by their code: the call that clone() makes in a new
 * thread, and the code to which glibc's coroutines return.
 */
#ifndef MTRACE_SYMBOL_EXIDX_FLOW_H
#define MTRACE_SYMBOL_EXIDX_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "base/vec.h"

#define EXIDX_FLOW_MAX (1u << 20) /* bytes of code that are analysed together */

/* A function that has a symbol. */
struct exidx_start {
	uint32_t at;   /* offset from the start of the code */
	uint32_t size; /* bytes; 0: unknown */
	bool is_thumb;
};

struct exidx_flow_code {
	const uint8_t *bytes;
	uint32_t size;                    /* at most EXIDX_FLOW_MAX */
	const struct exidx_start *starts; /* ascending offsets */
	size_t start_count;
	bool is_thumb; /* of code without symbols */
};

struct exidx_flow {
	VEC(struct unwind_row) rows; /* offsets from the start of the code; includes gaps */
	uint32_t functions;          /* accepted functions, and rejected ones */
	uint32_t refused;
};

/* Returns 0 or -ENOMEM. */
int exidx_flow_follow(const struct exidx_flow_code *code, struct exidx_flow *ret_flow);
void exidx_flow_free(struct exidx_flow *flow);

/* For code without symbols: returns true if it is most likely Thumb. */
bool exidx_flow_is_thumb(const uint8_t *code, size_t size);

#endif
