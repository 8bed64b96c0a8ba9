/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows all paths from an instruction: is a slot or a register read before it is overwritten? */
#ifndef MTRACE_SYMBOL_LIVENESS_SEARCH_H
#define MTRACE_SYMBOL_LIVENESS_SEARCH_H

#include <stdint.h>

#include "symbol/liveness/cache.h"
#include "symbol/liveness/function.h"
#include "symbol/liveness/verdict.h"
#include "symbol/liveness/decode/step.h"

/*
 * From a virtual address in a function, or from its end: behind a call that does not return.
 * A word of the function's own frame, or of its arguments on the stack:
 */
enum liveness liveness_search_slot(struct liveness_cache *cache,
				   const struct liveness_function *function, uint64_t from,
				   struct liveness_range slot);
/*
 * A callee-saved register, by its index in the order of LIVENESS_SAVED. If the function has not
 * saved it, the caller may get it by an exception, too.
 */
enum liveness liveness_search_register(struct liveness_cache *cache,
				       const struct liveness_function *function, uint64_t from,
				       unsigned int reg, bool is_saved);

#endif
