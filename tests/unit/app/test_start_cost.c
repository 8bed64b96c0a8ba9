/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line about the cost of tracing after the start, and what it is computed from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/session/start_cost.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MS           1000000ULL
#define TRACED       "the traced processes' CPU time at "

static void test_text_says_what_was_measured_and_what_can_be_done(void **state)
{
	static const struct {
		struct start_cost cost;
		const char *text;
	} rows[] = {
		{{.all = 0.43, .sampled = 0.17, .calls_per_s = 2134567},
		 "tracing takes 43% of " TRACED
		 "2.1 million calls/s; sampling can reduce it to 17% "
		 "at best, for example --sample 512k"},
		{{.all = 0.12, .sampled = 0.021, .calls_per_s = 34321},
		 "tracing takes 12% of " TRACED "34,000 calls/s; --max-overhead 3 keeps it at 3%, "
		 "--sample 512k takes 2.1% at best"},
		{{.all = 0.75, .sampled = 0.7, .calls_per_s = 999},
		 "tracing takes 75% of " TRACED
		 "1,000 calls/s; sampling cannot reduce it much (trace "
		 "fewer functions with --only)"},
		{{.all = 0.4, .sampled = 0.2, .calls_per_s = 1e6, .samples = true},
		 "tracing takes 40% of " TRACED
		 "1.0 million calls/s; sampling less can reduce it to "
		 "20% at best"},
		{{.all = 0.4, .sampled = 0.1, .calls_per_s = 1e5, .complete = true},
		 "tracing takes 40% of " TRACED
		 "100,000 calls/s (trace fewer functions with --only)"},
		{{.all = 0.049, .sampled = 0.01, .calls_per_s = 7},
		 "tracing takes 4.9% of " TRACED "7 calls/s"},
		{{.of_all = true}, "tracing takes 0.0% of all processes' CPU time at 0 calls/s"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[START_COST_SIZE];

		assert_string_equal(start_cost_text(&rows[i].cost, text), rows[i].text);
	}
}

static void assert_share(double share, double expected)
{
	assert_true(share > expected - 1e-9 && share < expected + 1e-9);
}

/* Of 100 ms, 50 are the program's own. With sampling, 25 of tracing remain: a third of 75. */
static void test_sampled_share_is_relative_to_the_lower_sum(void **state)
{
	const struct source_cost window = {.cpu_ns = 100 * MS,
					   .cost_ns = 50 * MS,
					   .floor_ns = 25 * MS,
					   .calls = 20000,
					   .wall_ns = 200 * MS,
					   .of_all = true};
	struct start_cost cost = start_cost_of(&window);

	(void)state;
	assert_share(cost.all, 0.5);
	assert_share(cost.sampled, 1.0 / 3);
	assert_share(cost.calls_per_s, 100000);
	assert_true(cost.of_all);
}

/* The rates are not exact: their sum may exceed the CPU time. */
static void test_shares_are_at_most_1(void **state)
{
	const struct source_cost rows[] = {
		{.cpu_ns = 10 * MS, .cost_ns = 15 * MS, .floor_ns = 12 * MS},
		{.cpu_ns = 10 * MS, .cost_ns = 15 * MS, .floor_ns = 5 * MS},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct start_cost cost = start_cost_of(&rows[i]);

		assert_share(cost.all, 1);
		assert_true(cost.sampled <= 1);
	}
}

static void test_program_without_calls_costs_nothing(void **state)
{
	struct start_cost cost = start_cost_of(&(struct source_cost){.cpu_ns = MS});

	(void)state;
	assert_share(cost.all, 0);
	assert_share(cost.sampled, 0);
	assert_share(cost.calls_per_s, 0);
	assert_false(start_cost_is_high(&cost));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_says_what_was_measured_and_what_can_be_done),
		cmocka_unit_test(test_sampled_share_is_relative_to_the_lower_sum),
		cmocka_unit_test(test_shares_are_at_most_1),
		cmocka_unit_test(test_program_without_calls_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
