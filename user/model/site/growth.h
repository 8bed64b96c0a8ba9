/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides if the live bytes of a site grow, since when, and how fast.
 *
 * The test is applied to windows that end now: the whole series, its last three quarters, and so
 * on. Among the windows that grow, it uses the longest one whose result is about as clear as the
 * best. A window is divided into cells of equal length, and each cell has the minimum and maximum
 * of live bytes (low and high water). The site grows if
 *
 * - low water rises, and so does high water, according to the test of Mann (Econometrica 13, 1945)
 *   and Kendall with the correction for ties, which assumes no shape and no distribution of noise.
 *   For a cache that fills and empties, neither rises;
 * - the minimum of the last cell exceeds the maximum of the first one by at least 4 KiB, and (if
 *   the window is not the whole series) exceeds everything before the window: a value that returns
 *   to where it was has not grown;
 * - it rose in its second half by at least a quarter of what it rose in the first. So initial
 *   allocations and warm-up no longer count after a while.
 *
 * The window may begin before the growth does. Among the lines that are level up to some cell and
 * rise from there, the one that fits low water best (least squares) determines the start, if its
 * error is less than half that of a straight line. Then the search is repeated in the rest. So the
 * start and rate describe the time in which the site grew, not the weeks before.
 *
 * The slope is the median of the slopes of all pairs of cells (Theil 1950; Sen, J. Am. Stat. Assoc.
 * 63, 1968), which is robust against outliers, with Sen's 95% interval. It is that of low water:
 * what is live between peaks is what stays.
 *
 * All times are from events, so a replay gives the same result.
 */
#ifndef MTRACE_MODEL_SITE_GROWTH_H
#define MTRACE_MODEL_SITE_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/site/series.h"

#define GROWTH_CELLS 20
#define GROWTH_LEAST 4096 /* in bytes */

struct growth {
	bool grows;       /* the other fields are valid only if true */
	double slope;     /* bytes per second … */
	double slope_low; /* … and its 95% interval */
	double slope_high;
	double certainty; /* 1 - the probability that it rises by chance */
	uint64_t ns;      /* time for which it has been growing */
	uint64_t bytes;   /* growth in that time */
};

/* `now` is the current tick, and `bytes` are live now. */
struct growth growth_of(const struct series *series, uint32_t now, uint64_t bytes);

/* The certainty in words: "very certain", "certain", "likely". */
const char *growth_words(double certainty);

#endif
