/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several scans of a process that runs: what do they agree on? See confirm.c. */
#ifndef MTRACE_SCAN_CONFIRM_H
#define MTRACE_SCAN_CONFIRM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "scan/scan.h"

#define CONFIRM_PASSES   5 /* in a row that agree, unless the caller knows better; 2 at least */
#define CONFIRM_PATIENCE 4 /* times as many are made at most */

/* A block that no pass has reached so far. */
struct suspect {
	uint64_t address;
	uint64_t stamp; /* tells it from others that had its address */
};

/* Zeroed memory is ready for the first pass. */
struct confirm {
	VEC(struct suspect) suspects; /* by address */
	unsigned int passes;
	unsigned int agreed; /* passes in a row that left the suspects as they were */
};

/*
 * Enter the result of a pass over blocks that were live when it began. `stamp` says of a live block
 * when it was allocated, as the books have it; it is called for lost blocks only. 0 or -ENOMEM.
 */
int confirm_pass(struct confirm *confirm, const struct blocks *blocks,
		 const struct scan_result *result, uint64_t (*stamp)(void *ctx, uint64_t address),
		 void *ctx);
/* So many passes in a row agree, and further ones would change nothing. */
bool confirm_done(const struct confirm *confirm, unsigned int passes);
/*
 * Bring the last pass's result in line: what it calls lost but not all passes did is unknown.
 * Classes are summed up again.
 */
void confirm_apply(const struct confirm *confirm, const struct blocks *blocks,
		   struct scan_result *result);
void confirm_free(struct confirm *confirm);

#endif
