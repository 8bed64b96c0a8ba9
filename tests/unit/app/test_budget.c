/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampling follows a budget: single decisions, and simulated programs with known costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/session/budget.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LEVELS       32

static struct budget budget_of(double share, uint32_t least)
{
	return (struct budget){.most_ppm = (uint32_t)(share * PPM_ALL),
			       .least = least,
			       .most = LEVELS,
			       .drawn = least};
}

static uint32_t decided(struct budget *budget, double all, double floor)
{
	budget_decide(budget, &(struct budget_cost){all, floor});
	return budget->drawn;
}

static void test_sampling_is_halved_until_the_cost_fits(void **state)
{
	static const struct {
		double all;
		double floor;
		uint32_t doublings;
	} rows[] = {
		{0.05, 0, 0},    {0.10, 0, 0},    {0.11, 0, 1},      {0.20, 0, 1},
		{0.21, 0, 2},    {0.80, 0, 3},    {0.14, 0.06, 1},   {0.86, 0.06, 5},
		{0.30, 0.20, 3}, {0.205, 0.2, 0}, {0.2125, 0.20, 0}, {0.10, 0.10, 0},
		{2.00, 0.00, 5},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct budget budget = budget_of(0.1, 0);

		assert_int_equal(decided(&budget, rows[i].all, rows[i].floor), rows[i].doublings);
		assert_int_equal(budget.changes, rows[i].doublings != 0);
	}
}

static void test_sampling_decreases_slowly_at_low_cost(void **state)
{
	struct budget budget = budget_of(0.1, 0);

	(void)state;
	assert_int_equal(decided(&budget, 0.4, 0), 2);
	assert_int_equal(decided(&budget, 0.04, 0), 2); /* may be chance */
	assert_int_equal(decided(&budget, 0.06, 0), 2); /* it was */
	assert_int_equal(decided(&budget, 0.04, 0), 2);
	assert_int_equal(decided(&budget, 0.04, 0), 1);
	assert_int_equal(decided(&budget, 0.04, 0), 1);
	assert_int_equal(decided(&budget, 0.04, 0), 0);
	assert_int_equal(decided(&budget, 0.001, 0), 0);
	assert_int_equal(decided(&budget, 0.001, 0), 0);
	assert_int_equal(budget.changes, 3);
}

static void test_requested_sampling_is_the_minimum(void **state)
{
	struct budget budget = budget_of(0.1, 1);

	(void)state;
	assert_int_equal(decided(&budget, 0.15, 0), 2);
	for (int i = 0; i < 10; i++)
		decided(&budget, 0.001, 0);
	assert_int_equal(budget.drawn, 1);
}

static void test_budget_of_100_percent_changes_nothing(void **state)
{
	struct budget budget = budget_of(1, 0);

	(void)state;
	assert_int_equal(decided(&budget, 0.99, 0.9), 0);
	assert_int_equal(decided(&budget, 1.7, 0), 0);
	assert_int_equal(decided(&budget, 5, 3), 0);
	assert_int_equal(budget.changes, 0);
	assert_false(budget_is_hopeless(&budget, &(struct budget_cost){5, 3}));
}

static void test_level_is_limited(void **state)
{
	struct budget budget = budget_of(0.001, 0);

	(void)state;
	for (int i = 0; i < 20; i++)
		decided(&budget, 1, 0);
	assert_int_equal(budget.drawn, LEVELS);
}

static void test_too_high_floor_is_detected(void **state)
{
	const struct budget budget = budget_of(0.1, 0);

	(void)state;
	assert_true(budget_is_hopeless(&budget, &(struct budget_cost){0.5, 0.11}));
	assert_false(budget_is_hopeless(&budget, &(struct budget_cost){0.5, 0.09}));
}

/* The cost of a program that makes a call per microsecond of work, if one of 2^(drawn - 1) calls is
 * sampled. */
static struct budget_cost cost_of(const struct budget *budget, double entry_us, double report_us)
{
	double chance = budget->drawn ? 1.0 / (double)(1ULL << (budget->drawn - 1)) : 1;
	double cost = entry_us + chance * report_us, all = 1 + cost;

	return (struct budget_cost){cost / all, entry_us / all};
}

/* The rate soon stabilises within the budget or near the floor, and stays there. */
static void test_sampling_rate_stabilises(void **state)
{
	static const double budgets[] = {0.01, 0.05, 0.2, 0.5}, entries[] = {0.001, 0.05, 0.8},
			    reports[] = {0.1, 1, 5};

	(void)state;
	for (size_t i = 0; i < COUNT(budgets) * COUNT(entries) * COUNT(reports); i++) {
		double share = budgets[i % COUNT(budgets)];
		double entry = entries[i / COUNT(budgets) % COUNT(entries)];
		double report = reports[i / COUNT(budgets) / COUNT(entries)];
		struct budget budget = budget_of(share, 0);
		struct budget_cost cost;
		uint64_t changes;

		for (int n = 0; n < 30; n++) {
			cost = cost_of(&budget, entry, report);
			budget_decide(&budget, &cost);
		}
		changes = budget.changes;
		for (int n = 0; n < 100; n++) {
			cost = cost_of(&budget, entry, report);
			budget_decide(&budget, &cost);
			assert_true(cost.all <= share + 1e-9 ||
				    cost.all - cost.floor <= share / 8 + 1e-9);
		}
		assert_int_equal(budget.changes, changes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampling_is_halved_until_the_cost_fits),
		cmocka_unit_test(test_sampling_decreases_slowly_at_low_cost),
		cmocka_unit_test(test_requested_sampling_is_the_minimum),
		cmocka_unit_test(test_budget_of_100_percent_changes_nothing),
		cmocka_unit_test(test_level_is_limited),
		cmocka_unit_test(test_too_high_floor_is_detected),
		cmocka_unit_test(test_sampling_rate_stabilises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
