/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/site/growth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS         (GROWTH_CELLS * (GROWTH_CELLS - 1) / 2)
#define Z_LOW         3.0  /* for low water: by chance once in 740 windows */
#define Z_HIGH        2.33 /* for high water: once in 100 */
#define Z_INTERVAL    1.96
#define CERTAIN       0.9999
#define VERY_CERTAIN  0.999999
#define LEVELLING_OFF 4

#define MUCH_BETTER  0.5 /* a later onset must leave at most this share of the error */
#define LATEST_ONSET (GROWTH_CELLS * 3 / 4)
#define TURNS        4

#define AS_GOOD 0.95 /* a window's z is as good as the best one if it reaches this share of it */

/* A series prepared for many windows. */
struct history {
	struct series series;
	uint64_t most[SERIES_POINTS + 1]; /* maximum before interval i */
	uint64_t least[SERIES_POINTS];    /* minimum from interval i on */
	uint32_t now;
};

struct growth_cells {
	uint64_t low[GROWTH_CELLS], high[GROWTH_CELLS];
};

/* Works in units of 1 / GROWTH_CELLS tick, because start and length need not be divisible. */
static void cells_cover(struct growth_cells *cells, uint64_t start, uint64_t length, uint64_t begin,
			uint64_t end, uint64_t low, uint64_t high)
{
	uint64_t from = begin > start ? (begin - start) * GROWTH_CELLS / length : 0;
	uint64_t to = ((end - start) * GROWTH_CELLS + length - 1) / length;

	for (uint64_t i = from; i < to && i < GROWTH_CELLS; i++) {
		cells->low[i] = low < cells->low[i] ? low : cells->low[i];
		cells->high[i] = high > cells->high[i] ? high : cells->high[i];
	}
}

static struct growth_cells cells_of(const struct series *series, uint64_t start, uint64_t length)
{
	struct growth_cells cells = {.high = {0}};
	uint32_t begin = series->from;

	memset(cells.low, 0xff, sizeof(cells.low));
	for (uint32_t i = 0; i < series->count; i++) {
		uint32_t end = series->until[i];

		if (end > start)
			cells_cover(&cells, start, length, begin, end, series->low[i],
				    series->high[i]);
		begin = end;
	}
	return cells;
}

static bool cells_may_grow(const struct growth_cells *cells)
{
	uint64_t first = cells->low[0], middle = cells->low[GROWTH_CELLS / 2];
	uint64_t last = cells->low[GROWTH_CELLS - 1];

	if (last <= cells->high[0] || last - first < GROWTH_LEAST || middle > last)
		return false;
	return middle <= first || (last - middle) >= (middle - first) / LEVELLING_OFF;
}

/* Returns the variance of Kendall's S, with the correction for ties. */
static double kendall_variance(const uint64_t *values)
{
	double n = GROWTH_CELLS, variance = n * (n - 1) * (2 * n + 5);

	for (int i = 0; i < GROWTH_CELLS; i++) {
		double equal = 0, earlier = 0;

		for (int j = 0; j < GROWTH_CELLS; j++) {
			equal += values[j] == values[i];
			earlier += j < i && values[j] == values[i];
		}
		if (!earlier)
			variance -= equal * (equal - 1) * (2 * equal + 5);
	}
	return variance / 18;
}

static double kendall_z(const uint64_t *values)
{
	double sum = 0, variance = kendall_variance(values);

	for (int i = 0; i < GROWTH_CELLS; i++)
		for (int j = i + 1; j < GROWTH_CELLS; j++)
			sum += (values[j] > values[i]) - (values[j] < values[i]);
	if (variance <= 0 || sum <= 0)
		return 0;
	return (sum - 1) / sqrt(variance);
}

static int compare_doubles(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Returns the k-th of the sorted slopes; k is clamped. */
static double slope_at(const double *slopes, double k)
{
	if (k < 0)
		k = 0;
	return slopes[k < PAIRS - 1 ? (int)k : PAIRS - 1];
}

/* Returns the squared error of low water against a line that is level until cell k and rises from
 * there. */
static double unexplained(const struct growth_cells *cells, int k)
{
	double n = GROWTH_CELLS, x = 0, y = 0, xx = 0, xy = 0, yy = 0, covariance, variance;

	for (int i = 0; i < GROWTH_CELLS; i++) {
		double at = i > k ? i - k : 0, low = (double)cells->low[i] - (double)cells->low[0];

		x += at;
		y += low;
		xx += at * at;
		xy += at * low;
		yy += low * low;
	}
	covariance = xy - x * y / n;
	variance = xx - x * x / n;
	return yy - y * y / n - covariance * covariance / variance;
}

/* Returns the cell where growth began: the first one, unless a later one fits much better. */
static int onset_of(const struct growth_cells *cells)
{
	double least = unexplained(cells, 0) * MUCH_BETTER;
	int onset = 0;

	for (int k = 1; k <= LATEST_ONSET; k++) {
		double rest = unexplained(cells, k);

		if (rest < least) {
			least = rest;
			onset = k;
		}
	}
	return onset;
}

/* A window that grows may begin before the growth does. Shortens it to the growth and returns its
 * length. */
static uint32_t from_onset(const struct history *history, uint32_t length,
			   struct growth_cells *cells)
{
	for (int turn = 0; turn < TURNS; turn++) {
		int onset = onset_of(cells);
		uint32_t rest =
			length - (uint32_t)((uint64_t)length * (uint32_t)onset / GROWTH_CELLS);

		if (!onset || rest < GROWTH_CELLS)
			break;
		length = rest;
		*cells = cells_of(&history->series, history->now - length, length);
	}
	return length;
}

static void find_slope(const struct growth_cells *cells, double seconds, struct growth *growth)
{
	double slopes[PAIRS] = {0}, reach = Z_INTERVAL * sqrt(kendall_variance(cells->low));
	int count = 0;

	for (int i = 0; i < GROWTH_CELLS; i++)
		for (int j = i + 1; j < GROWTH_CELLS; j++)
			slopes[count++] = ((double)cells->low[j] - (double)cells->low[i]) /
					  (seconds * (j - i) / GROWTH_CELLS);
	qsort(slopes, PAIRS, sizeof(slopes[0]), compare_doubles);
	growth->slope = (slopes[PAIRS / 2] + slopes[(PAIRS - 1) / 2]) / 2;
	growth->slope_low = slope_at(slopes, (PAIRS - reach) / 2);
	growth->slope_high = slope_at(slopes, (PAIRS + reach) / 2);
}

static void history_open(struct history *history, const struct series *series, uint32_t now,
			 uint64_t bytes)
{
	struct series *all = &history->series;
	uint64_t least = UINT64_MAX;

	*all = *series;
	series_add(all, now, bytes);
	history->now = all->count ? all->until[all->count - 1] : all->from;
	history->most[0] = 0;
	for (uint32_t i = 0; i < all->count; i++)
		history->most[i + 1] =
			all->high[i] > history->most[i] ? all->high[i] : history->most[i];
	for (uint32_t i = all->count; i-- > 0;)
		history->least[i] = least = all->low[i] < least ? all->low[i] : least;
}

/* Returns the first interval that ends after the tick. The caller makes sure that there is one. */
static uint32_t interval_behind(const struct series *series, uint32_t tick)
{
	uint32_t low = 0, high = series->count - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (series->until[middle] > tick)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* A cheap test to run first: most sites do not grow. */
static bool may_grow(const struct history *history, uint32_t length)
{
	uint32_t start = history->now - length;
	uint32_t last = history->now - 1 - length / GROWTH_CELLS;
	uint32_t first = interval_behind(&history->series, start);
	uint64_t low = history->least[interval_behind(&history->series, last)];

	return low >= GROWTH_LEAST && low > history->most[first] &&
	       low > history->series.high[first];
}

/* Returns the z of low water in the window; 0 if it does not grow. */
static double window_z(const struct history *history, uint32_t length,
		       struct growth_cells *ret_cells)
{
	double z;

	if (!may_grow(history, length))
		return 0;
	*ret_cells = cells_of(&history->series, history->now - length, length);
	if (!cells_may_grow(ret_cells))
		return 0;
	z = kendall_z(ret_cells->low);
	return z < Z_LOW || kendall_z(ret_cells->high) < Z_HIGH ? 0 : z;
}

static uint32_t next_window(uint32_t length)
{
	return length - length / 4;
}

struct growth growth_of(const struct series *series, uint32_t now, uint64_t bytes)
{
	struct growth growth = {0};
	struct history history;
	struct growth_cells cells;
	double best = 0, z = 0;
	uint32_t all, length;

	history_open(&history, series, now, bytes);
	all = history.now - series->from;
	for (length = all; length >= GROWTH_CELLS; length = next_window(length)) {
		z = window_z(&history, length, &cells);
		best = z > best ? z : best;
	}
	if (best <= 0)
		return growth;
	for (length = all; length >= GROWTH_CELLS; length = next_window(length)) {
		z = window_z(&history, length, &cells);
		if (z >= best * AS_GOOD)
			break;
	}
	length = from_onset(&history, length, &cells);
	growth.ns = length * SERIES_TICK_NS;
	find_slope(&cells, (double)growth.ns / 1e9, &growth);
	growth.certainty = 1 - erfc(z / M_SQRT2) / 2;
	growth.bytes = cells.low[GROWTH_CELLS - 1] - cells.low[0];
	growth.grows = growth.slope > 0;
	return growth.grows ? growth : (struct growth){0};
}

const char *growth_words(double certainty)
{
	if (certainty >= VERY_CERTAIN)
		return "very certain";
	return certainty >= CERTAIN ? "certain" : "likely";
}
