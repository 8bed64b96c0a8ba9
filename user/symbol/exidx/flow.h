/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows for code of Arm that nothing describes, from its instructions alone.
 *
 * Functions are followed from their first instruction along all ways that they can take, and each
 * instruction gets the frame that was made on the way there. That is believed if all ways agree:
 * wherever two meet the frame is the same, and wherever the function returns it is undone, with the
 * return address taken from where it was saved. Otherwise nothing is said of the function, for a
 * wrong frame is worse than a stack that ends; nor of what no way leads to (a jump table does).
 *
 * Where functions begin tell symbols, calls of functions that were followed, and, as those of a C
 * library are stripped of the names that are its own, what saves the link register: no function
 * does that twice. One that is found by that alone, and never returns, must lie behind code that
 * goes elsewhere.
 *
 * Two places are known as the outermost by what they are: the call that clone() makes in a new
 * thread, and where glibc's coroutines return to.
 */
#ifndef MTRACE_SYMBOL_EXIDX_FLOW_H
#define MTRACE_SYMBOL_EXIDX_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "base/vec.h"

#define EXIDX_FLOW_MAX (1u << 20) /* bytes of code that are looked at together */

/* A function that a symbol names. */
struct exidx_start {
	uint32_t at;   /* from the start of the code */
	uint32_t size; /* 0: not known */
	bool is_thumb;
};

struct exidx_flow_code {
	const uint8_t *bytes;
	uint32_t size;                    /* at most EXIDX_FLOW_MAX */
	const struct exidx_start *starts; /* by place, rising */
	size_t start_count;
	bool is_thumb; /* where no symbol is */
};

struct exidx_flow {
	VEC(struct unwind_row) rows; /* by offset from the start of the code; gaps are among them */
	uint32_t functions;          /* that are believed, and not */
	uint32_t refused;
};

/* 0 or -ENOMEM. */
int exidx_flow_follow(const struct exidx_flow_code *code, struct exidx_flow *ret_flow);
void exidx_flow_free(struct exidx_flow *flow);

/* Without any symbols: of which set is it most likely? */
bool exidx_flow_is_thumb(const uint8_t *code, size_t size);

#endif
