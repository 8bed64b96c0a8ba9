/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live memory of each site at the last report, so that the next one can show changes. */
#ifndef MTRACE_APP_SESSION_PERIOD_H
#define MTRACE_APP_SESSION_PERIOD_H

#include "base/map64.h"
#include "base/vec.h"
#include "model/snapshot/snapshot.h"

#define PERIOD_SHOWN 5 /* sites of a process: those that changed most */

/* All-zero memory is the state before the first report. */
struct period {
	struct map64 index; /* by process image and site */
	VEC(struct snapshot_sum) sums;
	uint64_t taken_ns; /* 0: no report yet */
	uint64_t bytes;
};

/*
 * Compares with the last report, if any. The snapshot must not be sorted or named yet. Returns 0 or
 * -ENOMEM.
 */
int period_compare(const struct period *period, struct snapshot *snapshot);
/* Makes this the last report. Returns 0 or -ENOMEM; then there is no last report. */
int period_remember(struct period *period, const struct snapshot *snapshot);
void period_free(struct period *period);

#endif
