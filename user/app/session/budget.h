/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How sampling follows a budget (--max-overhead): a decision after each measurement, based only on
 * that measurement and earlier ones.
 *
 * Each doubling of the mean halves the number of samples, and with it the part of the cost that
 * sampling can reduce. The rest, the floor, remains as long as calls have probes. So the part above
 * the floor is compared with what the floor leaves of the budget, or with an eighth of the budget
 * if the floor leaves less: sampling even less would save nothing, and lose the remaining accuracy.
 *
 * A cost above the budget is answered at once, by as many doublings as it takes. The mean is halved
 * only if the cost was below half of the budget twice in a row, and by one step: that doubles the
 * cost at most, so it stays within the budget.
 */
#ifndef MTRACE_APP_SESSION_BUDGET_H
#define MTRACE_APP_SESSION_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define PPM_ALL 1000000u

struct budget {
	uint32_t most_ppm; /* of the traced processes' CPU time; PPM_ALL: no limit */
	/* Sampling as in records: 0: all calls; otherwise a level + 1. */
	uint32_t least; /* the user's setting: never sample more than this */
	uint32_t most;
	uint32_t drawn; /* current value */
	uint32_t low;   /* successive measurements below half of the budget */
	uint64_t changes;
};

/* Fractions of the traced processes' CPU time. */
struct budget_cost {
	double all;
	double floor; /* the part that sampling cannot reduce */
};

/* Returns true if the floor alone is above the budget. */
bool budget_is_hopeless(const struct budget *budget, const struct budget_cost *cost);
/* Sets budget->drawn; returns whether it changed. */
bool budget_decide(struct budget *budget, const struct budget_cost *cost);

#endif
