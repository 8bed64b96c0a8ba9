/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A decoded function: the code of one FDE. */
#ifndef MTRACE_SYMBOL_LIVENESS_FUNCTION_H
#define MTRACE_SYMBOL_LIVENESS_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbol/liveness/callee.h"
#include "symbol/liveness/code.h"
#include "symbol/liveness/decode/step.h"

/* Longer functions are not analysed. */
#define LIVENESS_STEPS_MAX 65536     /* instructions */
#define LIVENESS_COST_MAX  (1 << 20) /* instructions, including those of called functions */

struct liveness_function {
	uint64_t start; /* virtual addresses */
	uint64_t end;
	bool known; /* false: it cannot be analysed, and has no steps */
	bool fresh; /* it starts with the frame of a call, so it is not a part of another function
		     */
	VEC(struct liveness_step) steps; /* sorted by address, without gaps */
	struct liveness_escapes escapes;
};

/* Returns 0 or -ENOMEM. */
int liveness_function_decode(struct liveness_callees *callees, const struct cfi_fde *fde,
			     struct liveness_function *ret_function);
void liveness_function_free(struct liveness_function *function);

/* The step that starts at a virtual address, or SIZE_MAX. */
size_t liveness_function_step(const struct liveness_function *function, uint64_t vaddr);

/*
 * Returns true if the function writes to a range of its frame and never reads it: others may read
 * it, through an address that was taken or, with `pushes`, as an argument on the stack. Without
 * `pushes`, writes by push instructions do not count.
 */
bool liveness_function_only_writes(const struct liveness_function *function,
				   struct liveness_range range, bool pushes);

#endif
