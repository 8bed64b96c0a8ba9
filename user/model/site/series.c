/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/site/series.h"

#include <stdbool.h>
#include <string.h>

struct interval_share {
	uint64_t span, age;
};

/* Of intervals i and i + 1 when merged. */
static struct interval_share share_of(const struct series *series, uint32_t i, uint32_t now)
{
	uint32_t begin = i ? series->until[i - 1] : series->from;

	return (struct interval_share){series->until[i + 1] - begin,
				       (uint64_t)now - series->until[i + 1]};
}

static bool is_shorter(const struct interval_share *a, const struct interval_share *b)
{
	return a->span * (b->age + 1) < b->span * (a->age + 1);
}

static void merge(struct series *series, uint32_t i)
{
	uint32_t behind = series->count - i - 2;

	if (series->low[i] < series->low[i + 1])
		series->low[i + 1] = series->low[i];
	if (series->high[i] > series->high[i + 1])
		series->high[i + 1] = series->high[i];
	memmove(&series->until[i], &series->until[i + 1], (behind + 1) * sizeof(*series->until));
	memmove(&series->low[i], &series->low[i + 1], (behind + 1) * sizeof(*series->low));
	memmove(&series->high[i], &series->high[i + 1], (behind + 1) * sizeof(*series->high));
	series->count--;
}

static void make_room(struct series *series, uint32_t now)
{
	struct interval_share best = share_of(series, 0, now);
	uint32_t found = 0;

	for (uint32_t i = 1; i + 1 < series->count; i++) {
		struct interval_share share = share_of(series, i, now);

		if (!is_shorter(&share, &best))
			continue;
		best = share;
		found = i;
	}
	merge(series, found);
}

void series_add(struct series *series, uint32_t until, uint64_t bytes)
{
	uint32_t last = series->count ? series->until[series->count - 1] : series->from;

	if (until <= last)
		return;
	if (series->count == SERIES_POINTS)
		make_room(series, until);
	series->until[series->count] = until;
	series->low[series->count] = series->high[series->count] = bytes;
	series->count++;
}
