/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several scans of a running process agree on. confirm.c explains why several are needed. */
#ifndef MTRACE_SCAN_CONFIRM_H
#define MTRACE_SCAN_CONFIRM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "scan/scan.h"

#define CONFIRM_PASSES   5 /* that agree in a row; at least 2 */
#define CONFIRM_PATIENCE 4 /* makes at most this many times as many passes */

/* A block that no pass has reached yet. */
struct suspect {
	uint64_t address;
	uint64_t stamp; /* distinguishes it from other blocks at its address */
};

/* All zero: ready for the first pass. */
struct confirm {
	VEC(struct suspect) suspects; /* by address */
	unsigned int passes;
	unsigned int agreed; /* passes in a row that cleared no suspect */
};

/*
 * Adds the result of a pass over the blocks that were live when it began. `stamp` returns when a
 * live block was allocated according to the model; it is called for leaked blocks only. Returns 0
 * or -ENOMEM.
 */
int confirm_pass(struct confirm *confirm, const struct blocks *blocks,
		 const struct scan_result *result, uint64_t (*stamp)(void *ctx, uint64_t address),
		 void *ctx);
/* Returns true if that many passes in a row agree, or no more passes should be made. */
bool confirm_done(const struct confirm *confirm, unsigned int passes);
/*
 * Corrects the result of the last pass: what it calls leaked, but not all passes did, becomes
 * unknown. Sums up the classes again.
 */
void confirm_apply(const struct confirm *confirm, const struct blocks *blocks,
		   struct scan_result *result);
void confirm_free(struct confirm *confirm);

#endif
