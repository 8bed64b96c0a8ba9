/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How calls are counted: each rule of user/model/model.h, and random calls compared with a naive
 * model. */
#include "oracle.h"
#include "tests/unit/model_fixture.h"

#define A 0x1000ULL
#define B 0x2000ULL

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct expected {
	uint64_t allocations, frees, bytes_allocated, live_bytes, failed;
	uint64_t unmatched, internal, collisions, missed;
};

static void check(struct model_fixture *fixture, struct expected expected)
{
	const struct snapshot_process *section = look(fixture);

	assert_int_equal(section->totals.allocations, expected.allocations);
	assert_int_equal(section->totals.frees, expected.frees);
	assert_int_equal(section->totals.bytes_allocated, expected.bytes_allocated);
	assert_int_equal(section->live.bytes, expected.live_bytes);
	assert_int_equal(section->totals.failed_allocations, expected.failed);
	assert_int_equal(section->losses.unmatched_frees, expected.unmatched);
	assert_int_equal(section->internal.frees, expected.internal);
	assert_int_equal(section->losses.collisions, expected.collisions);
	assert_int_equal(section->losses.missed_returns, expected.missed);
}

#define CHECK(fixture, ...) check((fixture), (struct expected){__VA_ARGS__})

static void send_realloc(struct model_fixture *fixture, uint64_t old, uint64_t size,
			 uint64_t result)
{
	send_begin(fixture, API_REALLOC, ARGUMENTS(old, size));
	if (result)
		send_end(fixture, API_REALLOC, result, size);
	else
		send_failed(fixture, API_REALLOC, size);
}

static void test_malloc_free(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_malloc(&fixture, B, 0);
	CHECK(&fixture, .allocations = 2, .bytes_allocated = 10, .live_bytes = 10);
	send_free(&fixture, A);
	send_call(&fixture, EVENT_FREE, API_DELETE, 0, B, 0);
	CHECK(&fixture, .allocations = 2, .frees = 2, .bytes_allocated = 10);
	assert_int_equal(look(&fixture)->totals.peak_live_bytes, 10);
	fixture_close(&fixture);
}

static void test_failed_allocation(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_call(&fixture, EVENT_ALLOC, API_CALLOC, EVENT_FLAG_FAILED, 0, 1ULL << 60);
	send_call(&fixture, EVENT_ALLOC, API_MALLOC, EVENT_FLAG_FAILED, 0, 0);
	CHECK(&fixture, .failed = 1);
	assert_int_equal(look(&fixture)->site_count, 1);
	fixture_close(&fixture);
}

static void test_unmatched_free(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_free(&fixture, 0);
	send_free(&fixture, A);
	CHECK(&fixture, .unmatched = 1);
	fixture.caller = LIBC + 0x100; /* the thread cache at a thread's exit */
	send_free(&fixture, A);
	CHECK(&fixture, .unmatched = 1, .internal = 1);
	send_malloc(&fixture, A, 10);
	send_free(&fixture, A);
	CHECK(&fixture, .allocations = 1, .frees = 1, .bytes_allocated = 10, .unmatched = 1,
	      .internal = 1);
	fixture_close(&fixture);
}

static void test_collision(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_malloc(&fixture, A, 4);
	CHECK(&fixture, .allocations = 2, .frees = 1, .bytes_allocated = 14, .live_bytes = 4,
	      .collisions = 1);
	assert_int_equal(look(&fixture)->totals.peak_live_bytes, 10);
	fixture_close(&fixture);
}

struct realloc_case {
	const char *what;
	uint64_t old, size, result;
	struct expected expected;
};

/* Before each step, a block of 10 bytes is live at A. */
static const struct realloc_case realloc_cases[] = {
	{"moves", A, 30, B, {2, 1, 40, 30, 0, 0, 0, 0, 0}},
	{"stays", A, 30, A, {2, 1, 40, 30, 0, 0, 0, 0, 0}},
	{"of nothing allocates", 0, 30, B, {2, 0, 40, 40, 0, 0, 0, 0, 0}},
	{"of nothing fails", 0, 30, 0, {1, 0, 10, 10, 1, 0, 0, 0, 0}},
	{"of nothing to nothing fails", 0, 0, 0, {1, 0, 10, 10, 0, 0, 0, 0, 0}},
	{"to nothing frees", A, 0, 0, {1, 1, 10, 0, 0, 0, 0, 0, 0}},
	{"to nothing gives a block", A, 0, B, {2, 1, 10, 0, 0, 0, 0, 0, 0}},
	{"fails", A, 30, 0, {1, 0, 10, 10, 1, 0, 0, 0, 0}},
	{"of an unknown block", B, 30, B, {2, 0, 40, 40, 0, 1, 0, 0, 0}},
	{"of an unknown block fails", B, 30, 0, {1, 0, 10, 10, 1, 0, 0, 0, 0}},
	{"of an unknown block frees it", B, 0, 0, {1, 0, 10, 10, 0, 1, 0, 0, 0}},
};

static void test_realloc_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(realloc_cases) / sizeof(realloc_cases[0]); i++) {
		const struct realloc_case *row = &realloc_cases[i];
		struct model_fixture fixture = fixture_default();

		print_message("  realloc %s\n", row->what);
		send_malloc(&fixture, A, 10);
		send_realloc(&fixture, row->old, row->size, row->result);
		check(&fixture, row->expected);
		fixture_close(&fixture);
	}
}

static void test_realloc_in_allocator(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	fixture.caller = LIBC + 0x100;
	send_realloc(&fixture, B, 30, A);
	CHECK(&fixture, .allocations = 1, .bytes_allocated = 30, .live_bytes = 30, .internal = 1);
	fixture_close(&fixture);
}

/* The old block lives until the call returns, but its address can be reused from its begin. */
static void test_realloc_race(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 30));
	CHECK(&fixture, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10);
	assert_true(site_of(look(&fixture), API_MALLOC)->oldest_ns > 0);
	fixture.tid++;
	send_malloc(&fixture, A, 7);
	CHECK(&fixture, .allocations = 2, .bytes_allocated = 17, .live_bytes = 17);
	fixture.tid--;
	send_end(&fixture, API_REALLOC, B, 30);
	CHECK(&fixture, .allocations = 3, .frees = 1, .bytes_allocated = 47, .live_bytes = 37);
	fixture_close(&fixture);
}

/* This happens only if an event was dropped: the old block must be gone. */
static void test_realloc_fails_after_race(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 30));
	fixture.tid++;
	send_malloc(&fixture, A, 7);
	fixture.tid--;
	send_failed(&fixture, API_REALLOC, 30);
	CHECK(&fixture, .allocations = 2, .frees = 1, .bytes_allocated = 17, .live_bytes = 7,
	      .failed = 1);
	fixture_close(&fixture);
}

static void test_end_without_begin(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_end(&fixture, API_REALLOC, A, 10);
	send_failed(&fixture, API_REALLOC, 10);
	send_failed(&fixture, API_REALLOC, 0);
	CHECK(&fixture, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10, .failed = 1);
	fixture_close(&fixture);
}

static void test_posix_memalign(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_begin(&fixture, API_POSIX_MEMALIGN, ARGUMENTS(0, 10));
	send_end(&fixture, API_POSIX_MEMALIGN, A, 0);
	send_begin(&fixture, API_POSIX_MEMALIGN, ARGUMENTS(0, 10));
	send_failed(&fixture, API_POSIX_MEMALIGN, 0);
	CHECK(&fixture, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10, .failed = 1);
	assert_int_equal(site_of(look(&fixture), API_POSIX_MEMALIGN)->live_blocks, 1);
	fixture_close(&fixture);
}

/* The previous call never returned: its block is live again. */
static void test_missed_return(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_malloc(&fixture, B, 5);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 30));
	send_realloc(&fixture, B, 6, B);
	CHECK(&fixture, .allocations = 3, .frees = 1, .bytes_allocated = 21, .live_bytes = 16,
	      .missed = 1);
	send_free(&fixture, A);
	CHECK(&fixture, .allocations = 3, .frees = 2, .bytes_allocated = 21, .live_bytes = 6,
	      .missed = 1);
	fixture_close(&fixture);
}

/* A signal handler interrupts mmap and calls realloc; another handler never returns to it. */
static void test_interrupted_call(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_begin(&fixture, API_MMAP, ARGUMENTS(0, 4096, 0x22));
	send_realloc(&fixture, A, 20, A);
	send_end(&fixture, API_MMAP, 0x700000, 4096);
	CHECK(&fixture, .allocations = 2, .frees = 1, .bytes_allocated = 30, .live_bytes = 20);
	send_begin(&fixture, API_MMAP, ARGUMENTS(0, 4096, 0x22));
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 40));
	send_end(&fixture, API_MMAP, 0x800000, 4096);
	CHECK(&fixture, .allocations = 2, .frees = 1, .bytes_allocated = 30, .live_bytes = 20,
	      .missed = 1);
	assert_int_equal(look(&fixture)->mappings.maps, 2);
	send_free(&fixture, A);
	CHECK(&fixture, .allocations = 2, .frees = 2, .bytes_allocated = 30, .missed = 1);
	fixture_close(&fixture);
}

static void test_threads_do_not_share_calls(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_malloc(&fixture, B, 20);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 30));
	fixture.tid++;
	send_begin(&fixture, API_REALLOC, ARGUMENTS(B, 40));
	fixture.tid--;
	send_failed(&fixture, API_REALLOC, 30);
	fixture.tid++;
	send_end(&fixture, API_REALLOC, B, 40);
	CHECK(&fixture, .allocations = 3, .frees = 1, .bytes_allocated = 70, .live_bytes = 50,
	      .failed = 1);
	fixture_close(&fixture);
}

static void test_wrapper(void **state)
{
	static const uint64_t frames[] = {OPERATOR_NEW + OPERATOR_NEW_SIZE, PROGRAM + 0x99};
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_stack(&fixture, 5, frames, 2, 0);
	fixture.stack = 5;
	fixture.caller = frames[0];
	send_malloc(&fixture, A, 10);
	send_call(&fixture, EVENT_ALLOC, API_MALLOC, EVENT_FLAG_FAILED, 0, 10);
	fixture.stack = 0;
	send_malloc(&fixture, B, 10);
	assert_null(site_of(look(&fixture), API_MALLOC));
	assert_int_equal(look(&fixture)->site_count, 2); /* with and without a stack */
	assert_int_equal(look(&fixture)->sites[0].api, API_NEW);
	assert_int_equal(look(&fixture)->sites[0].failed_allocations, 1);
	assert_true(look(&fixture)->stacks[0].frames[0].wrapper);
	assert_false(look(&fixture)->stacks[0].frames[1].wrapper);
	fixture_close(&fixture);
}

/* Wrappers that call each other: operator new[] (nothrow) calls operator new[], which calls
 * operator new. */
static void test_wrapper_of_wrapper(void **state)
{
	static const uint64_t frames[] = {OPERATOR_NEW + 8, OPERATOR_NEW_ARRAY + 8,
					  OPERATOR_NEW_ARRAY + 16, PROGRAM + 0x99,
					  OPERATOR_NEW + 8};
	struct model_fixture fixture = fixture_default();
	const struct snapshot_stack *stack;

	(void)state;
	send_wrapper(&fixture, OPERATOR_NEW_ARRAY, API_NEW_ARRAY);
	send_stack(&fixture, 5, frames, COUNT_OF(frames), 0);
	send_stack(&fixture, 6, frames, 1, 0);
	fixture.stack = 5;
	fixture.caller = frames[0];
	send_malloc(&fixture, A, 10);
	fixture.stack = 6; /* only wrappers */
	send_malloc(&fixture, B, 20);
	assert_int_equal(site_of(look(&fixture), API_NEW_ARRAY)->live_bytes, 10);
	assert_int_equal(site_of(fixture.snapshot->processes, API_NEW)->live_bytes, 20);
	stack = &fixture.snapshot->processes[0].stacks[0];
	assert_int_equal(stack->frame_count, 3);
	assert_int_equal(stack->depth, 5);
	assert_int_equal(stack->frames[0].address, frames[2]);
	assert_true(stack->frames[0].wrapper);
	assert_false(stack->frames[1].wrapper);
	assert_false(stack->frames[2].wrapper);
	assert_int_equal(stack[1].frame_count, 1);
	fixture_close(&fixture);
}

static void test_wrapper_not_wanted(void **state)
{
	struct model_fixture fixture = fixture_open((struct model_config){.apis = API_SET_ALL});

	(void)state;
	fixture.caller = OPERATOR_NEW + 1;
	send_malloc(&fixture, A, 10);
	fixture.caller = OPERATOR_NEW; /* returns to it, but was called from before it */
	send_malloc(&fixture, B, 10);
	assert_int_equal(look(&fixture)->sites[0].api, API_MALLOC);
	assert_true(look(&fixture)->stacks[0].frames[0].wrapper);
	assert_false(look(&fixture)->stacks[1].frames[0].wrapper);
	fixture_close(&fixture);
}

static void test_excluded_api(void **state)
{
	struct model_fixture fixture =
		fixture_open((struct model_config){.apis = 1u << API_NEW, .wrappers = true});

	(void)state;
	send_malloc(&fixture, A, 10);
	send_call(&fixture, EVENT_ALLOC, API_MALLOC, EVENT_FLAG_FAILED, 0, 10);
	send_realloc(&fixture, A, 20, B);
	send_free(&fixture, B);
	CHECK(&fixture, 0);
	assert_int_equal(look(&fixture)->site_count, 0);
	assert_int_equal(look(&fixture)->stack_count, 0);
	fixture.caller = OPERATOR_NEW + 1;
	send_malloc(&fixture, A, 10);
	CHECK(&fixture, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10);
	fixture_close(&fixture);
}

static void test_peaks(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 100);
	send_free(&fixture, A);
	send_call(&fixture, EVENT_ALLOC, API_CALLOC, 0, A, 60);
	send_realloc(&fixture, A, 70, B); /* the old block is freed before the new one counts */
	assert_int_equal(look(&fixture)->totals.peak_live_bytes, 100);
	assert_int_equal(site_of(look(&fixture), API_MALLOC)->peak_live_bytes, 100);
	assert_int_equal(site_of(look(&fixture), API_CALLOC)->peak_live_bytes, 60);
	assert_int_equal(site_of(look(&fixture), API_REALLOC)->peak_live_bytes, 70);
	fixture_close(&fixture);
}

static void test_ages(void **state)
{
	struct model_fixture fixture = fixture_default();
	uint64_t first = fixture.now_ns + MS;

	(void)state;
	send_malloc(&fixture, A, 1);
	send_malloc(&fixture, B, 1);
	assert_int_equal(look(&fixture)->sites[0].first_seen_ns, first);
	assert_int_equal(look(&fixture)->sites[0].oldest_ns, first);
	send_free(&fixture, A);
	assert_int_equal(look(&fixture)->sites[0].oldest_ns, first + MS);
	send_free(&fixture, B);
	assert_int_equal(look(&fixture)->sites[0].oldest_ns, 0);
	fixture_close(&fixture);
}

static void test_exec(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *old;

	(void)state;
	send_malloc(&fixture, A, 10);
	send_malloc(&fixture, B, 10);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(B, 20));
	send_process(&fixture, EVENT_EXEC, START_TIME);
	send_free(&fixture, A);
	CHECK(&fixture, .unmatched = 1);
	assert_int_equal(look(&fixture)->image, 1);
	assert_false(look(&fixture)->replaced);
	fixture_snapshot(&fixture);
	assert_int_equal(fixture.snapshot->process_count, 2);
	old = &fixture.snapshot->processes[0];
	assert_int_equal(old->image, 0);
	assert_true(old->replaced);
	assert_false(old->exited);
	assert_int_equal(old->live.bytes, 20);
	assert_true(old->sites[0].oldest_ns > 0);
	fixture_close(&fixture);
}

static void test_exit(void **state)
{
	struct model_fixture fixture = fixture_default();
	uint64_t end;

	(void)state;
	send_malloc(&fixture, A, 10);
	send_event(&fixture, (struct event){.kind = EVENT_EXIT, .exit = {.code = 0x300}});
	end = fixture.now_ns;
	send_malloc(&fixture, B, 10); /* too late */
	CHECK(&fixture, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10);
	assert_true(look(&fixture)->exited);
	assert_int_equal(look(&fixture)->exit_code, 0x300);
	assert_int_equal(look(&fixture)->traced_until_ns, end);
	assert_int_equal(fixture.snapshot->dropped, 1);
	assert_int_equal(model_memory(fixture.model), 0);
	fixture_close(&fixture);
}

static void test_recycled_pid(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_process(&fixture, EVENT_PROCESS, START_TIME); /* already known */
	CHECK(&fixture, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10);
	send_process(&fixture, EVENT_PROCESS, START_TIME + 1);
	CHECK(&fixture, 0);
	assert_int_equal(look(&fixture)->image, 0);
	fixture_snapshot(&fixture);
	assert_int_equal(fixture.snapshot->process_count, 2);
	assert_int_equal(fixture.snapshot->processes[0].live.bytes, 10);
	fixture_close(&fixture);
}

static void test_two_processes(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	fixture.pid++;
	send_process(&fixture, EVENT_PROCESS, START_TIME);
	send_free(&fixture, A);
	CHECK(&fixture, .unmatched = 1);
	assert_int_equal(fixture.snapshot->processes[0].live.bytes, 10);
	fixture_close(&fixture);
}

static void test_invalid_events(void **state)
{
	struct model_fixture fixture = fixture_default();
	uint64_t dropped = 0;

	(void)state;
	send_call(&fixture, EVENT_ALLOC, API_COUNT, 0, A, 10);
	send_call(&fixture, EVENT_ALLOC, API_NONE, 0, A, 10);
	send_call(&fixture, EVENT_ALLOC, API_FREE, 0, A, 10);
	send_call(&fixture, EVENT_FREE, API_MALLOC, 0, A, 10);
	send_call(&fixture, EVENT_BEGIN, API_MALLOC, 0, A, 10);
	send_call(&fixture, EVENT_END, API_FREE, 0, A, 10);
	send_call(&fixture, EVENT_KIND_COUNT, API_MALLOC, 0, A, 10);
	send_event(&fixture,
		   (struct event){.kind = EVENT_WRAPPER, .wrapper = {0, UINT64_MAX, API_COUNT}});
	dropped += 8;
	fixture.pid++;
	send_malloc(&fixture, A, 10);
	send_process(&fixture, EVENT_EXEC, START_TIME);
	dropped += 2;
	fixture.pid--;
	CHECK(&fixture, 0);
	assert_int_equal(fixture.snapshot->dropped, dropped);
	send_malloc(&fixture, A, UINT64_MAX);
	send_malloc(&fixture, B, UINT64_MAX);
	fixture_snapshot(&fixture);
	fixture_close(&fixture);
}

static void test_losses_are_reported(void **state)
{
	struct snapshot_losses sent = {.events = 3, .unmatched_frees = 4, .gap_ns = 5};
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_free(&fixture, A);
	send_losses(&fixture, &sent);
	send_losses(&fixture, &sent); /* replaces the counts */
	assert_int_equal(look(&fixture)->losses.events, 3);
	assert_int_equal(look(&fixture)->losses.unmatched_frees, 5);
	assert_int_equal(look(&fixture)->losses.gap_ns, 5);
	fixture_close(&fixture);
}

static void test_random(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 6; seed++) {
		/* All APIs; without operator new; without some APIs. */
		static const struct model_config configs[] = {
			{.apis = API_SET_ALL, .wrappers = true},
			{.apis = API_SET_ALL, .wrappers = false},
			{.apis = API_SET_ALL &
				 ~(1u << API_CALLOC | 1u << API_REALLOC | 1u << API_MREMAP),
			 .wrappers = true},
		};

		oracle_run(configs[seed % 3], seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_malloc_free),
		cmocka_unit_test(test_failed_allocation),
		cmocka_unit_test(test_unmatched_free),
		cmocka_unit_test(test_collision),
		cmocka_unit_test(test_realloc_table),
		cmocka_unit_test(test_realloc_in_allocator),
		cmocka_unit_test(test_realloc_race),
		cmocka_unit_test(test_realloc_fails_after_race),
		cmocka_unit_test(test_end_without_begin),
		cmocka_unit_test(test_posix_memalign),
		cmocka_unit_test(test_missed_return),
		cmocka_unit_test(test_interrupted_call),
		cmocka_unit_test(test_threads_do_not_share_calls),
		cmocka_unit_test(test_wrapper),
		cmocka_unit_test(test_wrapper_of_wrapper),
		cmocka_unit_test(test_wrapper_not_wanted),
		cmocka_unit_test(test_excluded_api),
		cmocka_unit_test(test_peaks),
		cmocka_unit_test(test_ages),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_recycled_pid),
		cmocka_unit_test(test_two_processes),
		cmocka_unit_test(test_invalid_events),
		cmocka_unit_test(test_losses_are_reported),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
