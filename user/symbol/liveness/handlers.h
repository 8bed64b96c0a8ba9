/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Landing pads: where a function continues if a call throws an exception. */
#ifndef MTRACE_SYMBOL_LIVENESS_HANDLERS_H
#define MTRACE_SYMBOL_LIVENESS_HANDLERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbol/liveness/code.h"

#define LIVENESS_HANDLERS_MAX 65536 /* call sites, with or without a handler */

/* Calls in [start, end) continue at `pad` if they throw. Virtual addresses. */
struct liveness_handler {
	uint64_t start;
	uint64_t end;
	uint64_t pad;
};

struct liveness_handlers {
	VEC(struct liveness_handler) list; /* sorted by start, without overlap */
	uint32_t sites;                    /* number of call sites read */
};

/*
 * Appends the handlers of an FDE. Returns 0, -ENOMEM, or -ENOEXEC for an invalid table.
 */
int liveness_handlers_read(struct liveness_handlers *handlers, const struct liveness_code *code,
			   const struct cfi_fde *fde);

/* The landing pad of the instruction at a virtual address, or 0. */
uint64_t liveness_handlers_find(const struct liveness_handlers *handlers, uint64_t vaddr);

void liveness_handlers_free(struct liveness_handlers *handlers);

#endif
