/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A limit on the memory of the model: blocks are sampled, ended processes and new sites merged. */
#include <math.h>

#include "tests/unit/model_fixture.h"

#define A        0x10000000ULL
#define LIMIT    (8u << 20)
#define MANY     400000 /* blocks; they would take at least 9.6 MB */
#define SIGMAS   8      /* a random failure has a probability of 1e-15 */
#define QUANTILE 1.96   /* bounds are 95% confidence intervals */

static struct model_fixture limited(uint32_t max_closed)
{
	return fixture_open((struct model_config){
		.apis = API_SET_ALL, .max_bytes = LIMIT, .max_closed = max_closed});
}

static uint64_t address_of(uint64_t i)
{
	return A + i * 64;
}

static uint64_t size_of(uint64_t i)
{
	return 16 + i * 7919 % 1000;
}

static void assert_near(uint64_t truth, uint64_t estimate, const struct snapshot_bounds *bounds)
{
	double deviation = (double)(bounds->high - bounds->low) / 2 / QUANTILE;

	assert_in_range(estimate, bounds->low, bounds->high);
	assert_true(fabs((double)truth - (double)estimate) <= SIGMAS * deviation);
}

/* Fills the model far beyond its limit. Returns the bytes that are live. */
static uint64_t fill(struct model_fixture *fixture)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < MANY; i++) {
		send_malloc(fixture, address_of(i), size_of(i));
		bytes += size_of(i);
	}
	return bytes;
}

static void test_estimates(void **state)
{
	struct model_fixture fixture = limited(0);
	uint64_t bytes = fill(&fixture);
	const struct snapshot_process *section = look(&fixture);

	(void)state;
	assert_true(model_bytes(fixture.model) <= LIMIT);
	assert_true(fixture.snapshot->tool.limit.mean >= 4096);
	assert_int_equal(model_limit_mean(fixture.model), fixture.snapshot->tool.limit.mean);
	assert_in_range(fixture.snapshot->tool.limit.since_ns, MS, fixture.now_ns);
	assert_false(fixture.snapshot->tool.limit.sites);
	assert_near(MANY, section->live.blocks, &section->sampling.live_blocks);
	assert_near(bytes, section->live.bytes, &section->sampling.live_bytes);
	assert_near(bytes, section->totals.bytes_allocated, &section->sampling.bytes_allocated);
	assert_int_equal(section->totals.allocations, section->live.blocks);
	fixture_close(&fixture);
}

/* What was counted when a block was kept is taken back when it is freed, and the frees of blocks
 * that were not kept are no errors. */
static void test_frees_add_up(void **state)
{
	struct model_fixture fixture = limited(0);
	const struct snapshot_process *section;

	(void)state;
	fill(&fixture);
	for (uint64_t i = 0; i < MANY; i++)
		send_free(&fixture, address_of(i));
	section = look(&fixture);
	assert_int_equal(section->live.blocks, 0);
	assert_int_equal(section->live.bytes, 0);
	assert_int_equal(section->totals.frees, section->totals.allocations);
	assert_int_equal(section->losses.unmatched_frees, 0);
	fixture_close(&fixture);
}

/* If the free of a block was lost, its address is reused by a block that may not be kept. */
static void test_reused_addresses(void **state)
{
	struct model_fixture fixture = limited(0);
	const struct snapshot_process *section;

	(void)state;
	fill(&fixture);
	for (uint64_t i = 0; i < MANY; i++)
		send_malloc(&fixture, address_of(i), 1);
	section = look(&fixture);
	assert_near(MANY, section->live.blocks, &section->sampling.live_blocks);
	assert_true(section->live.bytes < 2 * MANY);
	fixture_close(&fixture);
}

/* The blocks of a parent are shared with its children, and count once. */
static void test_children_share(void **state)
{
	enum { BLOCKS = 50000, CHILDREN = 20 };
	struct model_fixture fixture = limited(0);

	(void)state;
	for (uint64_t i = 0; i < BLOCKS; i++)
		send_malloc(&fixture, address_of(i), 16);
	for (uint32_t child = 1; child <= CHILDREN; child++)
		send_fork(&fixture, PID + child, START_TIME, false);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		send_malloc(&fixture, A / 2, 16);
		send_free(&fixture, A / 2);
	}
	assert_true(model_bytes(fixture.model) > LIMIT);
	assert_int_equal(model_limit_mean(fixture.model), 0);
	fixture_close(&fixture);
}

static void test_ended_processes_are_merged(void **state)
{
	enum { CHILDREN = 2000, CALLS = 100 };
	struct model_fixture fixture = limited(CHILDREN);
	uint64_t sections;

	(void)state;
	for (uint32_t child = 1; child <= CHILDREN; child++) {
		fixture_switch_to(&fixture, PID);
		send_fork(&fixture, PID + child, child, false);
		fixture_switch_to(&fixture, PID + child);
		send_process(&fixture, EVENT_EXEC, child);
		for (uint64_t i = 0; i < CALLS; i++) {
			fixture.caller = PROGRAM + i;
			send_malloc(&fixture, address_of(i), 16);
		}
		send_exit(&fixture);
	}
	fixture_snapshot(&fixture);
	sections = fixture.snapshot->others.sections;
	assert_true(sections > CHILDREN / 2);
	assert_int_equal(fixture.snapshot->process_count + sections, 1 + 2 * CHILDREN);
	assert_true(model_bytes(fixture.model) < LIMIT);
	fixture_close(&fixture);
}

static void test_new_sites_are_merged(void **state)
{
	struct model_fixture fixture = limited(0);
	const struct snapshot_process *section;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		fixture.caller = PROGRAM + i;
		send_malloc(&fixture, address_of(i), 1 << 20);
	}
	section = look(&fixture);
	assert_true(fixture.snapshot->tool.limit.sites);
	assert_true(section->other_calls > 0);
	assert_near(100000, section->live.blocks, &section->sampling.live_blocks);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_estimates),
		cmocka_unit_test(test_frees_add_up),
		cmocka_unit_test(test_reused_addresses),
		cmocka_unit_test(test_children_share),
		cmocka_unit_test(test_ended_processes_are_merged),
		cmocka_unit_test(test_new_sites_are_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
