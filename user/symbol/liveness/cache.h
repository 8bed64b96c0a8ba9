/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoded functions of a module. */
#ifndef MTRACE_SYMBOL_LIVENESS_CACHE_H
#define MTRACE_SYMBOL_LIVENESS_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map64.h"
#include "base/vec.h"
#include "symbol/liveness/callee.h"
#include "symbol/liveness/code.h"
#include "symbol/liveness/function.h"

struct liveness_cache {
	struct liveness_code code;
	struct liveness_callees callees;
	VEC(struct liveness_function *) functions;
	struct map64 index; /* start → index of functions */
	size_t steps;       /* of all functions */
	uint64_t cost_max;  /* limit of callees.cost, beyond which no more functions are decoded */
};

int liveness_cache_open(struct liveness_cache *cache, int fd, struct error *err);
void liveness_cache_close(struct liveness_cache *cache);

/*
 * Returns the function that covers a virtual address, or NULL: there is none, memory is out, or too
 * many functions have been decoded for one question. Valid until the next call of
 * liveness_cache_start().
 */
const struct liveness_function *liveness_cache_function(struct liveness_cache *cache,
							uint64_t vaddr);

/* Call before each question. Drops all functions if there are too many. */
void liveness_cache_start(struct liveness_cache *cache);

#endif
