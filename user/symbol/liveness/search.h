/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows all paths from an instruction: is a slot or register read before it is overwritten? */
#ifndef MTRACE_SYMBOL_LIVENESS_SEARCH_H
#define MTRACE_SYMBOL_LIVENESS_SEARCH_H

#include <stdint.h>

#include "symbol/liveness/cache.h"
#include "symbol/liveness/function.h"
#include "symbol/liveness/verdict.h"
#include "symbol/liveness/decode/step.h"

/*
 * Searches for a word of the function's own frame or of its arguments on the stack. `from` is a
 * virtual address in the function, or its end, after a call that does not return.
 */
enum liveness liveness_search_slot(struct liveness_cache *cache,
				   const struct liveness_function *function, uint64_t from,
				   struct liveness_range slot);
/*
 * Searches for a callee-saved register, by its index in the order of LIVENESS_SAVED. If the
 * function has not saved it, an exception may also pass it to the caller.
 */
enum liveness liveness_search_register(struct liveness_cache *cache,
				       const struct liveness_function *function, uint64_t from,
				       unsigned int reg, bool is_saved);

#endif
