/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How sampling follows a budget (--max-overhead): a decision after each measurement, by nothing but
 * that and those before.
 *
 * Each doubling of the mean halves what is told, and so that part of the cost which sampling can
 * reduce. The rest, the floor, is there as long as calls have probes. So what counts is the part
 * above the floor, and what the floor leaves of the budget for it; where it leaves nothing, an
 * eighth of the budget: to tell still less would gain nothing, and lose the rest of what is known.
 *
 * Too much is answered at once, by as many doublings as it takes; little only if it was below half
 * twice in a row, and by one. As that doubles the cost at most, it does not come to be too much.
 */
#ifndef MTRACE_APP_SESSION_BUDGET_H
#define MTRACE_APP_SESSION_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define PPM_ALL 1000000u

struct budget {
	uint32_t most_ppm; /* of the time of what is traced; PPM_ALL: whatever it takes */
	/* What calls are drawn by, as records have it: 0: all are told; else a level + 1. */
	uint32_t least; /* as the user wants it: never more is told than by that */
	uint32_t most;
	uint32_t drawn; /* now */
	uint32_t low;   /* measurements in a row that were below half */
	uint64_t changes;
};

/* Of the time of what is traced. */
struct budget_cost {
	double all;
	double floor; /* of that, what sampling cannot reduce */
};

/* Does it not even suffice for the floor? */
bool budget_is_hopeless(const struct budget *budget, const struct budget_cost *cost);
/* Sets budget->drawn; returns whether it changed. */
bool budget_decide(struct budget *budget, const struct budget_cost *cost);

#endif
