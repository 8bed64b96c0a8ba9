/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling: the arithmetic of probabilities against libm, how calls that are not sampled hide the
 * calls that they make, and that the model's estimates are right within their bounds.
 */
#include "tests/bpf/host.h"
#include "tests/unit/model_fixture.h"

#include <math.h>

#include "api/api.h"
#include "model/process/weight.h"

#define SP     0x18000u
#define CALLER 0x401000u
#define BLOCK  0x5000u

static struct {
	uint64_t word_at[8][2];
	struct thread_calls thread;
	struct record_call records[8];
	int record_count;
	uint64_t lost[LOSS_COUNT];
	uint64_t session_sp, session_word; /* one pending session; sp 0: none */
} machine;

static int read_user(uint64_t address, uint64_t *ret_word)
{
	(void)address;
	*ret_word = CALLER;
	return 0;
}

static int is_return_list_full(void)
{
	return 0;
}

static int wants_sanity(void)
{
	return 0;
}

static struct thread_marks *thread_marks(void)
{
	return NULL;
}

static void emit(void *record, uint32_t length)
{
	struct record_call *copy = &machine.records[machine.record_count++];

	assert_true(machine.record_count < 8);
	memcpy(copy, record, length < sizeof(*copy) ? length : sizeof(*copy));
}

static void count_loss(enum loss loss)
{
	machine.lost[loss]++;
}

static struct session_pending *session_newest(void)
{
	return machine.session_sp ? (void *)&machine : NULL;
}

static struct session_pending *session_read(struct session_pending *pending, uint64_t *ret_sp,
					    uint64_t *ret_word)
{
	(void)pending;
	*ret_sp = machine.session_sp;
	*ret_word = machine.session_word;
	return NULL;
}

static struct thread_calls *exit_calls(void)
{
	return NULL;
}

/* SplitMix64, from a seed: the same in every run. */
static uint64_t state;

static uint64_t seeded_word(void)
{
	uint64_t word;

	state += 0x9e3779b97f4a7c15ULL;
	word = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return word ^ word >> 31;
}

static uint32_t seeded(void)
{
	return (uint32_t)(seeded_word() >> 32);
}

static uint32_t always_no(void)
{
	return UINT32_MAX;
}

static uint32_t always_yes(void)
{
	return 0;
}

static int start(void **state_of_test)
{
	(void)state_of_test;
	memset(&machine, 0, sizeof(machine));
	memset(&alloc_filter, 0, sizeof(alloc_filter));
	alloc_filter.on = true;
	alloc_filter.mean = 1024;
	alloc_filter.random = always_no;
	state = 1;
	return 0;
}

/* A size from 1 on, small ones as frequent as large ones. */
static uint64_t any_size(uint64_t below)
{
	return (uint64_t)exp(ldexp((double)seeded(), -32) * log((double)below));
}

static void test_sampling_probability_matches_its_formula(void **unused)
{
	(void)unused;
	for (uint64_t mean = 1; mean <= SAMPLE_MEAN_MAX; mean *= 2) {
		for (int i = 0; i < 4000; i++) {
			uint64_t some = mean + (i ? seeded_word() % mean : 0);
			struct sample_rate rate;
			uint64_t size, chance;
			double right;

			some = some > SAMPLE_MEAN_MAX ? SAMPLE_MEAN_MAX : some;
			rate = sample_rate_of(some);
			size = any_size(40 * some);
			chance = sample_chance(&rate, size);
			right = -expm1(-(double)size / (double)some);
			assert_true(fabs(ldexp((double)chance, -64) / right - 1) < 2e-6);
			if (size < rate.limit)
				assert_true(chance <=
					    sample_chance_most(sample_share(&rate, size)));
		}
	}
}

static void test_sampling_probability_of_extreme_sizes(void **unused)
{
	struct sample_rate rate = sample_rate_of(SAMPLE_MEAN_MAX);

	(void)unused;
	assert_true(sample_chance(&rate, 0) > 0);
	assert_int_equal(sample_chance(&rate, 0), sample_chance(&rate, 1));
	assert_int_equal(sample_chance(&rate, UINT64_MAX), SAMPLE_ALWAYS);
	rate = sample_rate_of(1);
	assert_true(sample_chance(&rate, 31) > UINT64_MAX - (1 << 20));
	assert_int_equal(sample_chance(&rate, 32), SAMPLE_ALWAYS);
	assert_int_equal(sample_mean_at(1, 31), 1U << 31);
	assert_int_equal(sample_mean_at(SAMPLE_MEAN_MAX / 2, 3), SAMPLE_MEAN_MAX);
}

/* More bytes, more chance: over all seams of the tables. */
static void test_sampling_probability_rises_with_size(void **unused)
{
	struct sample_rate rate = sample_rate_of(100000);
	uint64_t before = 0;

	(void)unused;
	for (uint64_t size = 1; size < 33 * 100000; size++) {
		uint64_t chance = sample_chance(&rate, size);

		assert_true(chance >= before);
		before = chance;
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Bytes from one sample to the next are exponentially distributed (Kolmogorov and Smirnov): the
 * bound is exceeded by chance once in 10^6 seeds, and the seed is fixed. */
static void test_sampling_distances_are_exponential(void **unused)
{
	enum { COUNT = 20000 };
	static double distances[COUNT];
	double worst = 0, mean = 512;
	uint64_t since = 0;

	(void)unused;
	alloc_filter.mean = 512;
	alloc_filter.random = seeded;
	for (int i = 0; i < COUNT;) {
		since++;
		if (sample_choose(1) == SAMPLE_NOT)
			continue;
		distances[i++] = (double)since - 0.5; /* somewhere in that byte */
		since = 0;
	}
	qsort(distances, COUNT, sizeof(distances[0]), compare_doubles);
	for (int i = 0; i < COUNT; i++) {
		double right = -expm1(-distances[i] / mean);

		worst = fmax(worst, fabs(right - (i + 0.5) / COUNT));
	}
	assert_true(worst * sqrt(COUNT) < 2.7);
}

/* Calls. */

#define LEAF ((uint64_t)COOKIE_FLAG_LEAF << 24)

static int enter_session(uint64_t cookie, struct pt_regs regs)
{
	uint64_t word = 0;
	int skipped = session_enter(&regs, cookie, &word);

	if (!skipped && !machine.session_sp) {
		machine.session_sp = regs.sp;
		machine.session_word = word;
	}
	return skipped;
}

static void leave_session(uint64_t result)
{
	struct pt_regs regs = {.sp = machine.session_sp + 8, .ip = CALLER, .ax = result};

	session_leave(&regs, machine.session_word);
	machine.session_sp = 0;
}

static void test_unreported_leaf_has_no_return_probe(void **unused)
{
	(void)unused;
	assert_int_equal(enter_session(api_cookie(API_MALLOC) | LEAF, (struct pt_regs){.sp = SP}),
			 1);
	thread_enter(&machine.thread, &(struct pt_regs){.sp = SP, .di = 8},
		     api_cookie(API_MALLOC) | LEAF);
	assert_int_equal(machine.thread.count, 0);
	assert_int_equal(machine.record_count, 0);
}

/* Otherwise the calls that it makes would get a second chance, and be reported as the program's
 * own. */
static void test_unreported_call_hides_calls_it_makes(void **unused)
{
	(void)unused;
	assert_int_equal(
		enter_session(api_cookie(API_CALLOC), (struct pt_regs){.sp = SP, .di = 1, .si = 8}),
		0);
	alloc_filter.random = always_yes;
	assert_int_equal(enter_session(api_cookie(API_MALLOC) | LEAF,
				       (struct pt_regs){.sp = SP - 64, .di = 8}),
			 1);
	leave_session(BLOCK);
	assert_int_equal(machine.record_count, 0);
	assert_false(may_be_reported(BLOCK));
}

static void test_unreported_call_hides_calls_without_sessions(void **unused)
{
	struct pt_regs back = {.sp = SP + 8, .ip = CALLER, .ax = BLOCK};
	uint64_t cookie = 0, payload = 0;

	(void)unused;
	thread_enter(&machine.thread, &(struct pt_regs){.sp = SP, .di = 1, .si = 8},
		     api_cookie(API_CALLOC));
	alloc_filter.random = always_yes;
	thread_enter(&machine.thread, &(struct pt_regs){.sp = SP - 64, .di = 8},
		     api_cookie(API_MALLOC) | LEAF);
	assert_int_equal(machine.thread.count, 1);
	assert_true(thread_leave(&machine.thread, SP, &cookie, &payload));
	emit_outcome(&back, cookie, payload);
	assert_int_equal(machine.record_count, 0);
}

static void test_unreported_call_hides_calls_if_exits_are_probed(void **unused)
{
	struct pt_regs at = {.sp = SP, .di = 8, .ax = BLOCK};

	(void)unused;
	exit_call_enter(&machine.thread, &at, api_cookie(API_MALLOC));
	alloc_filter.random = always_yes;
	thread_enter(&machine.thread, &(struct pt_regs){.sp = SP - 64, .di = 8},
		     api_cookie(API_MALLOC));
	assert_int_equal(machine.thread.count, 1);
	exit_call_throw(&machine.thread, &(struct pt_regs){.sp = SP - 32});
	exit_call_leave(&machine.thread, &at, EXIT_RETURN);
	assert_int_equal(machine.thread.count, 0);
	assert_int_equal(machine.record_count, 0);
	assert_int_equal(machine.lost[LOSS_NO_RETURN], 0);
}

static void test_reports_carry_their_sampling_mean(void **unused)
{
	(void)unused;
	alloc_filter.random = always_yes;
	alloc_filter.level = 4;
	assert_int_equal(
		enter_session(api_cookie(API_MALLOC) | LEAF, (struct pt_regs){.sp = SP, .di = 100}),
		0);
	alloc_filter.level = 9; /* changed while it is pending */
	leave_session(BLOCK);
	assert_int_equal(machine.record_count, 1);
	assert_int_equal(machine.records[0].head.kind, RECORD_ALLOC);
	assert_int_equal(machine.records[0].size, 100);
	assert_int_equal(machine.records[0].stack, 77);
	assert_int_equal(RECORD_SAMPLE(machine.records[0].head.flags), 5);
	assert_true(may_be_reported(BLOCK));
}

static void test_payload_keeps_all_bits_of_a_pointer(void **unused)
{
	uint64_t cookie = api_cookie(API_POSIX_MEMALIGN);
	uint64_t pointer = 0x7fffffffe000;

	(void)unused;
	assert_int_equal(payload_alone(cookie, payload_with(cookie, pointer, 7)), pointer);
	cookie = api_cookie(API_MALLOC);
	assert_int_equal(payload_alone(cookie, payload_with(cookie, 1ULL << 45, 7)), SIZE_BESIDE);
	assert_int_equal(payload_sample(cookie, payload_with(cookie, 1ULL << 45, 63)), 63);
}

static void test_only_frees_of_reported_blocks_are_reported(void **unused)
{
	struct pt_regs regs = {.sp = SP, .di = BLOCK};

	(void)unused;
	emit_free(&regs, api_cookie(API_FREE));
	assert_int_equal(machine.record_count, 0);
	mark_reported(BLOCK);
	emit_free(&regs, api_cookie(API_FREE));
	assert_int_equal(machine.record_count, 1);
}

/* The old block is freed, the new one is not sampled. */
static void test_realloc_of_reported_block_is_reported(void **unused)
{
	struct pt_regs regs = {.sp = SP, .di = BLOCK, .si = 8};
	uint64_t cookie = api_cookie(API_REALLOC) | LEAF;

	(void)unused;
	assert_int_equal(enter_session(cookie, regs), 1);
	mark_reported(BLOCK);
	assert_int_equal(enter_session(cookie, regs), 0);
	leave_session(BLOCK + 0x100);
	assert_int_equal(machine.record_count, 2);
	assert_int_equal(machine.records[0].head.kind, RECORD_BEGIN);
	assert_int_equal(machine.records[1].head.kind, RECORD_END);
	assert_int_equal(RECORD_SAMPLE(machine.records[1].head.flags), SAMPLE_NOT);
	assert_int_equal(machine.records[1].stack, 0);
	assert_false(may_be_reported(BLOCK + 0x100));
}

static void test_sizes_are_filtered_and_counted(void **unused)
{
	static const uint64_t sizes[] = {0, 15, 16, 64, 65};

	(void)unused;
	alloc_filter.mean = 0;
	alloc_filter.min_size = 16;
	alloc_filter.max_size = 64;
	for (size_t i = 0; i < 5; i++) {
		bool wanted = sizes[i] >= 16 && sizes[i] <= 64;

		assert_int_equal(enter_session(api_cookie(API_MALLOC) | LEAF,
					       (struct pt_regs){.sp = SP, .di = sizes[i]}),
				 !wanted);
		if (wanted)
			leave_session(BLOCK + sizes[i]);
	}
	assert_int_equal(machine.lost[LOSS_FILTERED], 3);
	assert_int_equal(machine.record_count, 2);
	assert_int_equal(RECORD_SAMPLE(machine.records[0].head.flags), 0);
}

/* All mappings are recorded. */
static void test_mappings_are_not_filtered(void **unused)
{
	(void)unused;
	assert_int_equal(enter_session(api_cookie(API_MMAP), (struct pt_regs){.sp = SP, .si = 1}),
			 0);
	assert_int_equal(machine.records[0].head.kind, RECORD_BEGIN);
}

/* The model. */

static struct model_fixture fixture_with_sampling(uint64_t mean)
{
	return fixture_open(
		(struct model_config){.apis = API_SET_ALL, .wrappers = true, .sample = mean});
}

/* Reports a call as the BPF programs would. Returns true if it was sampled. */
static bool send_sampled(struct model_fixture *fixture, uint64_t address, uint64_t size)
{
	uint32_t sample = sample_choose(size);

	if (sample == SAMPLE_NOT)
		return false;
	send_event(fixture, (struct event){.kind = EVENT_ALLOC,
					   .api = API_MALLOC,
					   .flags = RECORD_FLAG_SAMPLE(sample),
					   .call = {.address = address,
						    .size = size,
						    .caller = fixture->caller,
						    .stack = fixture->stack}});
	return true;
}

struct truth {
	uint64_t allocations, bytes, live_blocks, live_bytes;
};

static bool misses(const struct snapshot_bounds *bounds, uint64_t truth)
{
	return truth < bounds->low || truth > bounds->high;
}

#define BLOCKS 20000

static struct truth simulate(struct model_fixture *fixture)
{
	static uint64_t sizes[BLOCKS];
	struct truth truth = {0};

	for (uint64_t i = 0; i < BLOCKS; i++) {
		sizes[i] = 16 * any_size(6000);
		alloc_filter.level = (uint32_t)(i / 4000) % 3; /* the mean changes on the way */
		truth.allocations++;
		truth.bytes += sizes[i];
		send_sampled(fixture, 0x10000000 + i * 0x20000, sizes[i]);
	}
	for (uint64_t i = 0; i < BLOCKS; i++) {
		if (seeded() % 5 < 3) {
			send_free(fixture, 0x10000000 + i * 0x20000);
			continue;
		}
		truth.live_blocks++;
		truth.live_bytes += sizes[i];
	}
	return truth;
}

/* In 100 runs, 5 or so may be outside of bounds that hold in 95 of 100; not many more. The mean of
 * all runs is the truth. */
static void test_estimates_match_the_truth(void **unused)
{
	int missed[4] = {0};
	double ratio[4] = {0};

	(void)unused;
	alloc_filter.mean = 16384;
	alloc_filter.random = seeded;
	for (uint64_t run = 0; run < 100; run++) {
		struct model_fixture fixture = fixture_with_sampling(alloc_filter.mean);
		const struct snapshot_process *section;
		struct truth truth;

		state = run * 7919 + 1;
		truth = simulate(&fixture);
		section = look(&fixture);
		missed[0] += misses(&section->sampling.allocations, truth.allocations);
		missed[1] += misses(&section->sampling.bytes_allocated, truth.bytes);
		missed[2] += misses(&section->sampling.live_blocks, truth.live_blocks);
		missed[3] += misses(&section->sampling.live_bytes, truth.live_bytes);
		ratio[0] += (double)section->totals.allocations / (double)truth.allocations;
		ratio[1] += (double)section->totals.bytes_allocated / (double)truth.bytes;
		ratio[2] += (double)section->live.blocks / (double)truth.live_blocks;
		ratio[3] += (double)section->live.bytes / (double)truth.live_bytes;
		assert_int_equal(section->losses.unmatched_frees, 0);
		fixture_close(&fixture);
	}
	for (int i = 0; i < 4; i++) {
		print_message("missed %d of 100, on average %.4f of the truth\n", missed[i],
			      ratio[i] / 100);
		assert_in_range(missed[i], 0, 12);
	}
	assert_true(fabs(ratio[1] / 100 - 1) < 0.005);
	assert_true(fabs(ratio[3] / 100 - 1) < 0.01);
	assert_true(fabs(ratio[0] / 100 - 1) < 0.08);
	assert_true(fabs(ratio[2] / 100 - 1) < 0.1);
}

/* What is freed is what was allocated, by block and in the sums. */
static void test_no_estimate_remains_when_all_is_freed(void **unused)
{
	struct model_fixture fixture = fixture_with_sampling(4096);
	const struct snapshot_process *section;

	(void)unused;
	alloc_filter.mean = 4096;
	alloc_filter.random = seeded;
	for (uint64_t i = 0; i < 5000; i++)
		send_sampled(&fixture, 0x10000000 + i * 0x20000, any_size(20000));
	section = look(&fixture);
	assert_true(section->live.blocks > 0);
	assert_int_equal(section->sampling.live, section->sampling.samples);
	assert_int_equal(section->live.blocks, section->totals.allocations);
	for (uint64_t i = 0; i < 5000; i++)
		send_free(&fixture, 0x10000000 + i * 0x20000);
	section = look(&fixture);
	assert_int_equal(section->live.blocks, 0);
	assert_int_equal(section->live.bytes, 0);
	assert_int_equal(section->sampling.live, 0);
	assert_int_equal(section->totals.frees, section->totals.allocations);
	assert_int_equal(section->totals.bytes_freed, section->totals.bytes_allocated);
	fixture_close(&fixture);
}

/* An adaptive trace: exact while all calls are sampled, then coarser and coarser. */
static void test_all_calls_are_reported_until_sampling_starts(void **unused)
{
	struct model_fixture fixture = fixture_with_sampling(64);
	const struct snapshot_process *section;

	(void)unused;
	alloc_filter.mean = 64;
	alloc_filter.random = seeded;
	alloc_filter.all = true;
	for (uint64_t i = 0; i < 100; i++)
		assert_true(send_sampled(&fixture, 0x10000000 + i * 0x20000, 1));
	section = look(&fixture);
	assert_int_equal(section->totals.allocations, 100);
	assert_int_equal(section->totals.bytes_allocated, 100);
	assert_int_equal(section->sampling.mean, 0);
	assert_int_equal(section->sampling.samples, 0);
	alloc_filter.all = false;
	for (uint64_t i = 100; i < 2000; i++) {
		alloc_filter.level = i < 1000 ? 2 : 4;
		send_sampled(&fixture, 0x10000000 + i * 0x20000, 500);
	}
	section = look(&fixture);
	assert_int_equal(section->sampling.least_mean, 64 << 2);
	assert_int_equal(section->sampling.mean, 64 << 4);
	for (uint64_t i = 0; i < 2000; i++)
		send_free(&fixture, 0x10000000 + i * 0x20000);
	section = look(&fixture);
	assert_int_equal(section->live.blocks, 0);
	assert_int_equal(section->live.bytes, 0);
	assert_int_equal(section->totals.bytes_freed, section->totals.bytes_allocated);
	fixture_close(&fixture);
}

/* One stands for 1 / p, and rounding is right on average. */
static void test_weights_are_reciprocals_of_probabilities(void **unused)
{
	const struct model_config config = {.sample = 1000};
	double blocks = 0, bytes = 0, right = 1 / -expm1(-0.7);

	(void)unused;
	for (uint32_t i = 0; i < 100000; i++) {
		const struct block block = {
			.address = 0x1000 + i * 0x40ULL, .size = 700, .sample = 1, .time = i};
		struct weight weight = weight_of(&config, &block);

		blocks += (double)weight.blocks;
		bytes += (double)weight.bytes;
	}
	assert_true(fabs(blocks / 100000 / right - 1) < 0.005);
	assert_true(fabs(bytes / 100000 / (700 * right) - 1) < 0.0001);
	assert_int_equal(weight_of(&config, &(struct block){.size = 700}).blocks, 1);
	assert_int_equal(weight_of(&config, &(struct block){.size = 700}).bytes, 700);
	assert_int_equal(weight_of(&config, &(struct block){.size = 32000, .sample = 1}).blocks, 1);
}

/* Without a sample: the upper bound of what may have been missed. */
static void test_bounds_without_samples(void **unused)
{
	struct snapshot_bounds bounds = weight_bounds(0, 0, 1000);

	(void)unused;
	assert_int_equal(bounds.low, 0);
	assert_in_range(bounds.high, 3700, 3900);
	bounds = weight_bounds(5000, 1e6, 0);
	assert_int_equal(bounds.low, 3040);
	assert_int_equal(bounds.high, 6960);
}

/* A realloc whose new block is not sampled frees the old one; one that fails does not. */
static void test_unreported_realloc(void **unused)
{
	struct model_fixture fixture = fixture_with_sampling(100);
	const struct event begin = {.kind = EVENT_BEGIN,
				    .api = API_REALLOC,
				    .flags = RECORD_FLAG_SAMPLE(SAMPLE_NOT),
				    .call = {.args = {BLOCK, 8}}};
	struct event end = {.kind = EVENT_END,
			    .api = API_REALLOC,
			    .flags = RECORD_FLAG_SAMPLE(SAMPLE_NOT) | EVENT_FLAG_FAILED,
			    .call = {.size = 8}};

	(void)unused;
	alloc_filter.mean = 100;
	alloc_filter.random = always_yes;
	send_sampled(&fixture, BLOCK, 5000);
	send_event(&fixture, begin);
	send_event(&fixture, end);
	assert_int_equal(look(&fixture)->live.blocks, 1);
	assert_int_equal(look(&fixture)->totals.failed_allocations, 0);
	end.flags = RECORD_FLAG_SAMPLE(SAMPLE_NOT);
	end.call.address = BLOCK + 0x100;
	send_event(&fixture, begin);
	send_event(&fixture, end);
	assert_int_equal(look(&fixture)->live.blocks, 0);
	assert_int_equal(look(&fixture)->totals.frees, 1);
	assert_int_equal(look(&fixture)->totals.allocations, 1);
	send_free(&fixture, BLOCK + 0x100);
	assert_int_equal(look(&fixture)->losses.unmatched_frees, 0);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sampling_probability_matches_its_formula, start),
		cmocka_unit_test_setup(test_sampling_probability_of_extreme_sizes, start),
		cmocka_unit_test_setup(test_sampling_probability_rises_with_size, start),
		cmocka_unit_test_setup(test_sampling_distances_are_exponential, start),
		cmocka_unit_test_setup(test_unreported_leaf_has_no_return_probe, start),
		cmocka_unit_test_setup(test_unreported_call_hides_calls_it_makes, start),
		cmocka_unit_test_setup(test_unreported_call_hides_calls_without_sessions, start),
		cmocka_unit_test_setup(test_unreported_call_hides_calls_if_exits_are_probed, start),
		cmocka_unit_test_setup(test_reports_carry_their_sampling_mean, start),
		cmocka_unit_test_setup(test_payload_keeps_all_bits_of_a_pointer, start),
		cmocka_unit_test_setup(test_only_frees_of_reported_blocks_are_reported, start),
		cmocka_unit_test_setup(test_realloc_of_reported_block_is_reported, start),
		cmocka_unit_test_setup(test_sizes_are_filtered_and_counted, start),
		cmocka_unit_test_setup(test_mappings_are_not_filtered, start),
		cmocka_unit_test_setup(test_estimates_match_the_truth, start),
		cmocka_unit_test_setup(test_no_estimate_remains_when_all_is_freed, start),
		cmocka_unit_test_setup(test_all_calls_are_reported_until_sampling_starts, start),
		cmocka_unit_test_setup(test_weights_are_reciprocals_of_probabilities, start),
		cmocka_unit_test_setup(test_bounds_without_samples, start),
		cmocka_unit_test_setup(test_unreported_realloc, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
