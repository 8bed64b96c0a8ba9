/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/session/budget.h"

#include <math.h>

#define LEAST_PART 8 /* samples get at least this fraction of the budget */
#define PATIENCE   2 /* measurements below half of the budget before sampling more */

static double most_of(const struct budget *budget)
{
	return (double)budget->most_ppm / PPM_ALL;
}

bool budget_is_hopeless(const struct budget *budget, const struct budget_cost *cost)
{
	return budget->most_ppm < PPM_ALL && cost->floor > most_of(budget);
}

static bool draw_by(struct budget *budget, uint32_t drawn)
{
	bool changed = drawn != budget->drawn;

	budget->low = 0;
	budget->drawn = drawn;
	budget->changes += changed;
	return changed;
}

/* The cost relative to the budget: 1 is exactly the budget. */
static double used_of(const struct budget *budget, const struct budget_cost *cost)
{
	double least = most_of(budget) / LEAST_PART, left = most_of(budget) - cost->floor;

	return (cost->all - cost->floor) / (left > least ? left : least);
}

bool budget_decide(struct budget *budget, const struct budget_cost *cost)
{
	double used = budget->most_ppm < PPM_ALL ? used_of(budget, cost) : 0;
	double doublings = used > 1 ? ceil(log2(used)) : 0;

	if (doublings > 0) {
		uint32_t room = budget->most - budget->drawn;

		return draw_by(budget,
			       budget->drawn + (doublings < room ? (uint32_t)doublings : room));
	}
	budget->low = used < 0.5 ? budget->low + 1 : 0;
	return budget->low >= PATIENCE && budget->drawn > budget->least &&
	       draw_by(budget, budget->drawn - 1);
}
