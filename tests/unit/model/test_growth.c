/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growth detection on series with a known truth. One tick is a quarter of a second.
 *
 * Under sanitizers the longest series are shorter: three hours instead of a day, and a day instead
 * of three weeks. EXHAUSTIVE=1 runs them in full (see sweep.h).
 */
#include "tests/unit/model_fixture.h"

#include <math.h>
#include <stdio.h>

#include "model/site/growth.h"
#include "tests/unit/sweep.h"

#define PER_SECOND 4
#define MINUTE     (60 * PER_SECOND)
#define HOUR       (60 * MINUTE)
#define DAY        (24 * HOUR)
#define KIB        1024.0

/* Pseudo-random numbers, the same in every run (Marsaglia's xorshift32). */
static uint32_t noise_state;

static double noise(void)
{
	noise_state ^= noise_state << 13;
	noise_state ^= noise_state >> 17;
	noise_state ^= noise_state << 5;
	return (double)noise_state / UINT32_MAX;
}

/* The live bytes at second t of a trace that lasts `all` seconds. */
typedef double shape(double t, double all);

static struct growth grown(shape *live, uint32_t ticks, uint32_t seed)
{
	struct series series = {0};
	double all = (double)ticks / PER_SECOND;

	noise_state = seed * 2654435761u + 1;
	for (uint32_t tick = 1; tick < ticks; tick++)
		series_add(&series, tick, (uint64_t)live((double)tick / PER_SECOND, all));
	return growth_of(&series, ticks, (uint64_t)live(all, all));
}

/* ---- series that grow: 10 KiB a second, in various shapes ---- */

#define RATE (10 * KIB)

static double linear(double t, double all)
{
	(void)all;
	return RATE * t;
}

static double linear_in_noise(double t, double all)
{
	return RATE * t + RATE * all / 10 * noise();
}

static double linear_on_sawtooth(double t, double all)
{
	return RATE * t + RATE * all / 10 * fmod(t / all * 37, 1);
}

static double in_bursts(double t, double all)
{
	return RATE * all / 24 * floor(t / all * 24);
}

static double behind_a_spike(double t, double all)
{
	return RATE * t + (t > all / 50 && t < all / 25 ? RATE * all / 2 : 0);
}

static const struct {
	const char *what;
	shape *live;
	double tolerance;
	bool is_noisy;
} growing[] = {
	{"linear", linear, 0.1, false},
	{"linear in noise", linear_in_noise, 0.2, true},
	{"linear on a sawtooth", linear_on_sawtooth, 0.2, false},
	{"in bursts", in_bursts, 0.15, false},
	{"linear behind a spike", behind_a_spike, 0.1, false},
};

static uint32_t longest(void)
{
	return sweep_is_exhaustive() ? DAY : 3 * HOUR;
}

#define LENGTHS 4

static uint32_t length_of(size_t i)
{
	const uint32_t lengths[LENGTHS] = {MINUTE, 5 * MINUTE, HOUR, longest()};

	return lengths[i];
}

/* A seed only matters for a shape with noise. Long series get fewer seeds. */
static uint32_t seeds_for(bool is_noisy, uint32_t ticks, uint32_t count)
{
	return !is_noisy ? 1 : ticks > HOUR ? 2 : count;
}

static void test_growing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(growing) / sizeof(growing[0]); i++)
		for (size_t j = 0; j < LENGTHS; j++)
			for (uint32_t seed = 1, ticks = length_of(j);
			     seed <= seeds_for(growing[i].is_noisy, ticks, 5); seed++) {
				struct growth growth = grown(growing[i].live, ticks, seed);
				double span = (double)growth.ns / SERIES_TICK_NS / ticks;

				if (!growth.grows || span < 0.9 || growth.certainty < 0.99 ||
				    growth.slope < RATE * (1 - growing[i].tolerance) ||
				    growth.slope > RATE * (1 + growing[i].tolerance) ||
				    growth.slope_low > growth.slope ||
				    growth.slope_high < growth.slope)
					fail_msg("%s for %u ticks: %d, %g (%g to %g) B/s, "
						 "certainty %g, of the time %g",
						 growing[i].what, ticks, growth.grows, growth.slope,
						 growth.slope_low, growth.slope_high,
						 growth.certainty, span);
			}
}

/* ---- series that do not grow ---- */

static double constant(double t, double all)
{
	(void)t, (void)all;
	return 1e6;
}

static double step_at_start(double t, double all)
{
	return t < all / 100 ? t / all * 1e8 : 1e6;
}

static double warm_up(double t, double all)
{
	return 1e7 * (1 - exp(-t / all * 12));
}

static double shrinking(double t, double all)
{
	return 1e8 - 1e8 * t / all;
}

static double just_noise(double t, double all)
{
	(void)t, (void)all;
	return 1e6 + 1e6 * noise();
}

static double plateau(double t, double all)
{
	return t < all / 3 ? 3e7 * t / all : 1e7;
}

static double freed_in_the_end(double t, double all)
{
	return t < all * 0.99 ? 1e7 * t / all : 0;
}

static double too_little(double t, double all)
{
	return 3000 * t / all;
}

static shape *const still[] = {constant,   step_at_start, warm_up,          shrinking,
			       just_noise, plateau,       freed_in_the_end, too_little};

static void test_not_growing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(still) / sizeof(still[0]); i++)
		for (size_t j = 0; j < LENGTHS; j++)
			for (uint32_t seed = 1, ticks = length_of(j);
			     seed <= seeds_for(still[i] == just_noise, ticks, 20); seed++) {
				struct growth growth = grown(still[i], ticks, seed);

				if (growth.grows)
					fail_msg("shape %zu for %u ticks, seed %u: %g B/s for %g s",
						 i, ticks, seed, growth.slope,
						 (double)growth.ns / 1e9);
			}
}

/* A cache that fills and is emptied, with any period, observed at any time. */
static void test_sawtooth(void **state)
{
	static const uint32_t periods[] = {3, 7, 20, 41, 100, 317, 1000, 3600};

	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		struct series series = {0};
		uint32_t ticks = periods[i] * 12;

		for (uint32_t tick = 1; tick < ticks; tick++) {
			uint64_t live = tick % periods[i] * 100000ULL / periods[i];
			struct growth growth = growth_of(&series, tick, live);

			if (growth.grows && tick > periods[i] * 2)
				fail_msg("teeth of %u ticks, at %u: %g B/s for %g s", periods[i],
					 tick, growth.slope, (double)growth.ns / 1e9);
			series_add(&series, tick, live);
		}
	}
}

/* A leak that starts after three weeks is detected within minutes, with its start. */
static void test_late_leak(void **state)
{
	struct series series = {0};
	uint32_t begin = (sweep_is_exhaustive() ? 21 : 1) * DAY, tick;
	struct growth growth;

	(void)state;
	noise_state = 7;
	for (tick = 1; tick < begin; tick++)
		series_add(&series, tick, (uint64_t)(1e6 + 1e5 * noise()));
	assert_false(growth_of(&series, tick, 1100000).grows);
	for (; tick < begin + 10 * MINUTE; tick++)
		series_add(&series, tick,
			   (uint64_t)(1e6 + 1e5 * noise() + RATE * (tick - begin) / PER_SECOND));
	growth = growth_of(&series, tick, (uint64_t)(1e6 + 600 * RATE));
	assert_true(growth.grows);
	assert_true(growth.ns >= 240 * 1000000000ULL);
	assert_true(growth.ns <= 1200 * 1000000000ULL);
	assert_true(growth.slope > RATE / 2 && growth.slope < RATE * 1.5);
}

/* Live bytes from before the leak and from other allocations. */
static double level(uint32_t tick)
{
	(void)tick;
	return 1;
}

static double restless(uint32_t tick)
{
	(void)tick;
	return 1 + noise();
}

static double toothed(uint32_t tick)
{
	return 1 + tick % 397 / 397.0;
}

/* Whenever the leak starts, rate and duration are those since its start. */
static void test_start_of_a_leak_is_detected(void **state)
{
	static double (*const bases[])(uint32_t tick) = {level, restless, toothed};
	static const double shares[] = {0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02};
	const uint32_t totals[] = {HOUR, longest() / 4, longest()};

	(void)state;
	for (size_t i = 0; i < 3 * 8 * 3; i++) {
		uint32_t all = totals[i % 3], since = (uint32_t)(shares[i / 3 % 8] * all);
		double rise = RATE * since / PER_SECOND, span;
		struct series series = {0};
		struct growth growth;

		noise_state = 7;
		for (uint32_t tick = 1; tick < all; tick++) {
			double leaked =
				tick + since > all ? RATE * (tick + since - all) / PER_SECOND : 0;

			series_add(&series, tick,
				   (uint64_t)(leaked + rise / 5 * bases[i / 24](tick)));
		}
		growth = growth_of(&series, all, (uint64_t)(rise + rise / 5));
		span = (double)growth.ns / SERIES_TICK_NS / since;
		if (!growth.grows || growth.slope < RATE * 0.8 || growth.slope > RATE * 1.25 ||
		    span < 0.75 || span > 1.25)
			fail_msg("base %zu, %u of %u ticks: %g B/s, for %g of the time", i / 24,
				 since, all, growth.slope, span);
	}
}

/* ---- the series ---- */

static void test_series_is_bounded(void **state)
{
	struct series series = {0};
	uint32_t last = 0;

	(void)state;
	for (uint32_t tick = 1; tick <= DAY; tick++)
		series_add(&series, tick, tick);
	assert_int_equal(series.count, SERIES_POINTS);
	assert_int_equal(series.until[SERIES_POINTS - 1], DAY);
	for (uint32_t i = 0; i < series.count; i++) {
		uint32_t age = DAY - series.until[i] + 1;

		assert_int_equal(series.low[i], last + 1);
		assert_int_equal(series.high[i], series.until[i]);
		/* No interval is much longer than a share of its age. */
		assert_true(series.until[i] - last <= age + 2);
		last = series.until[i];
	}
	series_add(&series, DAY, 1); /* in the past */
	assert_int_equal(series.high[SERIES_POINTS - 1], DAY);
}

static void test_growth_is_described(void **state)
{
	(void)state;
	assert_string_equal(growth_words(0.9999999), "very certain");
	assert_string_equal(growth_words(0.99995), "certain");
	assert_string_equal(growth_words(0.999), "likely");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_not_growing),
		cmocka_unit_test(test_sawtooth),
		cmocka_unit_test(test_late_leak),
		cmocka_unit_test(test_start_of_a_leak_is_detected),
		cmocka_unit_test(test_series_is_bounded),
		cmocka_unit_test(test_growth_is_described),
	};

	return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
