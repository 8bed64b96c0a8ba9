/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded series of a site's live bytes over time. Time is divided into ticks. An interval covers
 * a number of ticks and has the minimum and maximum of live bytes at the ends of its ticks. When
 * all intervals are used, two adjacent ones are merged: those that are shortest relative to their
 * age. So the length of an interval is about a fixed share of the time since then: the last minute
 * has a resolution of seconds, the last month one of days, in the same number of intervals (like
 * round-robin archives, but without a resolution that must be chosen; the extremes correspond to
 * their consolidations MIN and MAX).
 *
 * Between two points nothing has changed, unless they were merged, so an inactive site costs
 * nothing.
 */
#ifndef MTRACE_MODEL_SITE_SERIES_H
#define MTRACE_MODEL_SITE_SERIES_H

#include <stdint.h>

#define SERIES_POINTS  64
#define SERIES_TICK_NS 250000000ULL

struct series {
	uint32_t from; /* the first tick */
	uint32_t count;
	uint32_t until[SERIES_POINTS]; /* ticks, ascending: each interval starts where the previous
					  one ends */
	uint64_t low[SERIES_POINTS];
	uint64_t high[SERIES_POINTS];
};

/* Adds an interval from the end of the last one to tick `until`, with this number of live bytes. */
void series_add(struct series *series, uint32_t until, uint64_t bytes);

/* Limits the number of series of all processes. */
struct series_budget {
	uint32_t max;
	uint32_t used;
	uint64_t refused; /* number of sites without a series because of that */
};

#endif
