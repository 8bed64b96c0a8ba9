/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many bytes of a site lived when: a bounded series. Time is divided into ticks; an interval of
 * so many ticks has the least and the most that lived at the ends of its ticks. When all intervals
 * are used, two neighbours become one: those that are shortest beside their age. So an interval is
 * about as long as a fixed share of the time since: the last minute is known by the second, the
 * last month by the day, in the same number of intervals (as round-robin archives keep it, but
 * without a resolution that has to be chosen; the extremes are their consolidations MIN and MAX).
 *
 * Between two points nothing has changed, unless they were merged: who does nothing costs nothing.
 */
#ifndef MTRACE_MODEL_SITE_SERIES_H
#define MTRACE_MODEL_SITE_SERIES_H

#include <stdint.h>

#define SERIES_POINTS  64
#define SERIES_TICK_NS 250000000ULL

struct series {
	uint32_t from; /* the tick in which it begins */
	uint32_t count;
	uint32_t until[SERIES_POINTS]; /* ticks, rising: each interval begins where the last ended
					*/
	uint64_t low[SERIES_POINTS];
	uint64_t high[SERIES_POINTS];
};

/* From the end of the last interval to this tick, so many bytes lived. */
void series_add(struct series *series, uint32_t until, uint64_t bytes);

/* How many series there may be, of all processes. */
struct series_budget {
	uint32_t max;
	uint32_t used;
	uint64_t refused; /* sites that have none for that reason */
};

#endif
