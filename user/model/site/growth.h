/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does what lives of a site grow, since when, and how fast?
 *
 * The question is asked of windows that end now: the whole series, the last three quarters of it,
 * and so on; of those that say yes, the longest counts that says it about as clearly as any. A
 * window is cut into cells of equal length, of which each
 * has the least and the most that lived in it (low and high water). It grows if
 *
 * - low water rises, and so does high water: by the test of Mann (Econometrica 13, 1945) and
 *   Kendall with the correction for ties, which asks for no shape and no distribution of noise. Of
 * a cache that fills and empties, neither does;
 * - the least of the last cell is more than the most of the first one, by 4 KiB at least, and (of a
 *   window that is not the whole) more than there ever was before it: what comes back to where it
 *   was has not grown;
 * - in its second half it rose by at least a quarter of what it rose in the first one. So what was
 *   allocated at the start, or what warms up, counts no more after a while.
 *
 * The window that says so may begin before the growth does: of lines that are level up to some cell
 * and rise from there on, the one that fits low water best (least squares) says when that was, if
 * it leaves less than half of what a straight line does; it is looked for again in what is left. So
 * "since when, how fast" are of the time in which it grew, not of the weeks before.
 *
 * The slope is the median of those of all pairs of cells (Theil 1950; Sen, J. Am. Stat. Assoc. 63,
 * 1968), which outliers do not move, with Sen's 95% interval. Low water is what it is of: what
 * lives between peaks is what stays.
 *
 * All times are of events, so a replay says the same.
 */
#ifndef MTRACE_MODEL_SITE_GROWTH_H
#define MTRACE_MODEL_SITE_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/site/series.h"

#define GROWTH_CELLS 20
#define GROWTH_LEAST 4096 /* bytes */

struct growth {
	bool grows;       /* the rest is valid then */
	double slope;     /* bytes per second … */
	double slope_low; /* … and its 95% interval */
	double slope_high;
	double certainty; /* that it rises at all: 1 - the probability of chance */
	uint64_t ns;      /* for which it has been growing */
	uint64_t bytes;   /* by which it has grown in them */
};

/* now: the tick that has begun, in which so many bytes live. */
struct growth growth_of(const struct series *series, uint32_t now, uint64_t bytes);

/* Certainty in a word: "very certain", "certain", "likely". */
const char *growth_words(double certainty);

#endif
