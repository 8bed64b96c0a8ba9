/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lived at each site at the last report, so that the next one can say what has changed. */
#ifndef MTRACE_APP_SESSION_PERIOD_H
#define MTRACE_APP_SESSION_PERIOD_H

#include "base/map64.h"
#include "base/vec.h"
#include "model/snapshot/snapshot.h"

#define PERIOD_SHOWN 5 /* sites of a process, those that changed most */

/* Zeroed memory is one before the first report. */
struct period {
	struct map64 index; /* by process image and site */
	VEC(struct snapshot_sum) sums;
	uint64_t taken_ns; /* 0: there was none */
	uint64_t bytes;
};

/* Compare with the last report, if there was one; not yet sorted, or given names. 0 or -ENOMEM. */
int period_compare(const struct period *period, struct snapshot *snapshot);
/* This one is the last report now. 0 or -ENOMEM, and then there was none. */
int period_remember(struct period *period, const struct snapshot *snapshot);
void period_free(struct period *period);

#endif
