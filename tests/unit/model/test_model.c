/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How calls are counted: each rule of user/model/model.h, and random calls compared with a naive
 * model. */
#include "oracle.h"
#include "tests/unit/books.h"

#define A 0x1000ULL
#define B 0x2000ULL

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct expected {
	uint64_t allocations, frees, bytes_allocated, live_bytes, failed;
	uint64_t unmatched, internal, collisions, missed;
};

static void check(struct books *books, struct expected expected)
{
	const struct snapshot_process *section = look(books);

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

#define CHECK(books, ...) check((books), (struct expected){__VA_ARGS__})

static void tell_realloc(struct books *books, uint64_t old, uint64_t size, uint64_t result)
{
	tell_begin(books, API_REALLOC, ARGUMENTS(old, size));
	if (result)
		tell_end(books, API_REALLOC, result, size);
	else
		tell_failed(books, API_REALLOC, size);
}

static void test_malloc_free(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_malloc(&books, B, 0);
	CHECK(&books, .allocations = 2, .bytes_allocated = 10, .live_bytes = 10);
	tell_free(&books, A);
	tell_call(&books, EVENT_FREE, API_DELETE, 0, B, 0);
	CHECK(&books, .allocations = 2, .frees = 2, .bytes_allocated = 10);
	assert_int_equal(look(&books)->totals.peak_live_bytes, 10);
	books_close(&books);
}

static void test_failed_allocation(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_call(&books, EVENT_ALLOC, API_CALLOC, EVENT_FLAG_FAILED, 0, 1ULL << 60);
	tell_call(&books, EVENT_ALLOC, API_MALLOC, EVENT_FLAG_FAILED, 0, 0);
	CHECK(&books, .failed = 1);
	assert_int_equal(look(&books)->site_count, 1);
	books_close(&books);
}

static void test_unmatched_free(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_free(&books, 0);
	tell_free(&books, A);
	CHECK(&books, .unmatched = 1);
	books.caller = LIBC + 0x100; /* the thread cache at a thread's exit */
	tell_free(&books, A);
	CHECK(&books, .unmatched = 1, .internal = 1);
	tell_malloc(&books, A, 10);
	tell_free(&books, A);
	CHECK(&books, .allocations = 1, .frees = 1, .bytes_allocated = 10, .unmatched = 1,
	      .internal = 1);
	books_close(&books);
}

static void test_collision(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_malloc(&books, A, 4);
	CHECK(&books, .allocations = 2, .frees = 1, .bytes_allocated = 14, .live_bytes = 4,
	      .collisions = 1);
	assert_int_equal(look(&books)->totals.peak_live_bytes, 10);
	books_close(&books);
}

struct realloc_case {
	const char *what;
	uint64_t old, size, result;
	struct expected expected;
};

/* Before each, a block of 10 bytes is live at A. */
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
		struct books books = books_default();

		print_message("  realloc %s\n", row->what);
		tell_malloc(&books, A, 10);
		tell_realloc(&books, row->old, row->size, row->result);
		check(&books, row->expected);
		books_close(&books);
	}
}

static void test_realloc_in_allocator(void **state)
{
	struct books books = books_default();

	(void)state;
	books.caller = LIBC + 0x100;
	tell_realloc(&books, B, 30, A);
	CHECK(&books, .allocations = 1, .bytes_allocated = 30, .live_bytes = 30, .internal = 1);
	books_close(&books);
}

/* The old block lives until the call returns, but its address can be reused from its begin. */
static void test_realloc_race(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_begin(&books, API_REALLOC, ARGUMENTS(A, 30));
	CHECK(&books, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10);
	assert_true(site_of(look(&books), API_MALLOC)->oldest_ns > 0);
	books.tid++;
	tell_malloc(&books, A, 7);
	CHECK(&books, .allocations = 2, .bytes_allocated = 17, .live_bytes = 17);
	books.tid--;
	tell_end(&books, API_REALLOC, B, 30);
	CHECK(&books, .allocations = 3, .frees = 1, .bytes_allocated = 47, .live_bytes = 37);
	books_close(&books);
}

/* This happens only if an event was dropped: the old block must be gone. */
static void test_realloc_fails_after_race(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_begin(&books, API_REALLOC, ARGUMENTS(A, 30));
	books.tid++;
	tell_malloc(&books, A, 7);
	books.tid--;
	tell_failed(&books, API_REALLOC, 30);
	CHECK(&books, .allocations = 2, .frees = 1, .bytes_allocated = 17, .live_bytes = 7,
	      .failed = 1);
	books_close(&books);
}

static void test_end_without_begin(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_end(&books, API_REALLOC, A, 10);
	tell_failed(&books, API_REALLOC, 10);
	tell_failed(&books, API_REALLOC, 0);
	CHECK(&books, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10, .failed = 1);
	books_close(&books);
}

static void test_posix_memalign(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_begin(&books, API_POSIX_MEMALIGN, ARGUMENTS(0, 10));
	tell_end(&books, API_POSIX_MEMALIGN, A, 0);
	tell_begin(&books, API_POSIX_MEMALIGN, ARGUMENTS(0, 10));
	tell_failed(&books, API_POSIX_MEMALIGN, 0);
	CHECK(&books, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10, .failed = 1);
	assert_int_equal(site_of(look(&books), API_POSIX_MEMALIGN)->live_blocks, 1);
	books_close(&books);
}

/* The previous call never returned: its block is live again. */
static void test_missed_return(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_malloc(&books, B, 5);
	tell_begin(&books, API_REALLOC, ARGUMENTS(A, 30));
	tell_realloc(&books, B, 6, B);
	CHECK(&books, .allocations = 3, .frees = 1, .bytes_allocated = 21, .live_bytes = 16,
	      .missed = 1);
	tell_free(&books, A);
	CHECK(&books, .allocations = 3, .frees = 2, .bytes_allocated = 21, .live_bytes = 6,
	      .missed = 1);
	books_close(&books);
}

/* A signal handler interrupts mmap and calls realloc; another handler never returns to it. */
static void test_interrupted_call(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_begin(&books, API_MMAP, ARGUMENTS(0, 4096, 0x22));
	tell_realloc(&books, A, 20, A);
	tell_end(&books, API_MMAP, 0x700000, 4096);
	CHECK(&books, .allocations = 2, .frees = 1, .bytes_allocated = 30, .live_bytes = 20);
	tell_begin(&books, API_MMAP, ARGUMENTS(0, 4096, 0x22));
	tell_begin(&books, API_REALLOC, ARGUMENTS(A, 40));
	tell_end(&books, API_MMAP, 0x800000, 4096);
	CHECK(&books, .allocations = 2, .frees = 1, .bytes_allocated = 30, .live_bytes = 20,
	      .missed = 1);
	assert_int_equal(look(&books)->mappings.maps, 2);
	tell_free(&books, A);
	CHECK(&books, .allocations = 2, .frees = 2, .bytes_allocated = 30, .missed = 1);
	books_close(&books);
}

static void test_threads_do_not_share_calls(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_malloc(&books, B, 20);
	tell_begin(&books, API_REALLOC, ARGUMENTS(A, 30));
	books.tid++;
	tell_begin(&books, API_REALLOC, ARGUMENTS(B, 40));
	books.tid--;
	tell_failed(&books, API_REALLOC, 30);
	books.tid++;
	tell_end(&books, API_REALLOC, B, 40);
	CHECK(&books, .allocations = 3, .frees = 1, .bytes_allocated = 70, .live_bytes = 50,
	      .failed = 1);
	books_close(&books);
}

static void test_wrapper(void **state)
{
	static const uint64_t frames[] = {OPERATOR_NEW + OPERATOR_NEW_SIZE, PROGRAM + 0x99};
	struct books books = books_default();

	(void)state;
	tell_stack(&books, 5, frames, 2, 0);
	books.stack = 5;
	books.caller = frames[0];
	tell_malloc(&books, A, 10);
	tell_call(&books, EVENT_ALLOC, API_MALLOC, EVENT_FLAG_FAILED, 0, 10);
	books.stack = 0;
	tell_malloc(&books, B, 10);
	assert_null(site_of(look(&books), API_MALLOC));
	assert_int_equal(look(&books)->site_count, 2); /* with and without a stack */
	assert_int_equal(look(&books)->sites[0].api, API_NEW);
	assert_int_equal(look(&books)->sites[0].failed_allocations, 1);
	assert_true(look(&books)->stacks[0].frames[0].wrapper);
	assert_false(look(&books)->stacks[0].frames[1].wrapper);
	books_close(&books);
}

/* Wrappers that call each other: operator new[] (nothrow) calls operator new[], which calls
 * operator new. */
static void test_wrapper_of_wrapper(void **state)
{
	static const uint64_t frames[] = {OPERATOR_NEW + 8, OPERATOR_NEW_ARRAY + 8,
					  OPERATOR_NEW_ARRAY + 16, PROGRAM + 0x99,
					  OPERATOR_NEW + 8};
	struct books books = books_default();
	const struct snapshot_stack *stack;

	(void)state;
	tell_wrapper(&books, OPERATOR_NEW_ARRAY, API_NEW_ARRAY);
	tell_stack(&books, 5, frames, COUNT_OF(frames), 0);
	tell_stack(&books, 6, frames, 1, 0);
	books.stack = 5;
	books.caller = frames[0];
	tell_malloc(&books, A, 10);
	books.stack = 6; /* only wrappers */
	tell_malloc(&books, B, 20);
	assert_int_equal(site_of(look(&books), API_NEW_ARRAY)->live_bytes, 10);
	assert_int_equal(site_of(books.snapshot->processes, API_NEW)->live_bytes, 20);
	stack = &books.snapshot->processes[0].stacks[0];
	assert_int_equal(stack->frame_count, 3);
	assert_int_equal(stack->depth, 5);
	assert_int_equal(stack->frames[0].address, frames[2]);
	assert_true(stack->frames[0].wrapper);
	assert_false(stack->frames[1].wrapper);
	assert_false(stack->frames[2].wrapper);
	assert_int_equal(stack[1].frame_count, 1);
	books_close(&books);
}

static void test_wrapper_not_wanted(void **state)
{
	struct books books = books_open((struct model_config){.apis = API_SET_ALL});

	(void)state;
	books.caller = OPERATOR_NEW + 1;
	tell_malloc(&books, A, 10);
	books.caller = OPERATOR_NEW; /* returns to it, but was called from before it */
	tell_malloc(&books, B, 10);
	assert_int_equal(look(&books)->sites[0].api, API_MALLOC);
	assert_true(look(&books)->stacks[0].frames[0].wrapper);
	assert_false(look(&books)->stacks[1].frames[0].wrapper);
	books_close(&books);
}

static void test_excluded_api(void **state)
{
	struct books books =
		books_open((struct model_config){.apis = 1u << API_NEW, .wrappers = true});

	(void)state;
	tell_malloc(&books, A, 10);
	tell_call(&books, EVENT_ALLOC, API_MALLOC, EVENT_FLAG_FAILED, 0, 10);
	tell_realloc(&books, A, 20, B);
	tell_free(&books, B);
	CHECK(&books, 0);
	assert_int_equal(look(&books)->site_count, 0);
	assert_int_equal(look(&books)->stack_count, 0);
	books.caller = OPERATOR_NEW + 1;
	tell_malloc(&books, A, 10);
	CHECK(&books, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10);
	books_close(&books);
}

static void test_peaks(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 100);
	tell_free(&books, A);
	tell_call(&books, EVENT_ALLOC, API_CALLOC, 0, A, 60);
	tell_realloc(&books, A, 70, B); /* the old block is freed before the new one counts */
	assert_int_equal(look(&books)->totals.peak_live_bytes, 100);
	assert_int_equal(site_of(look(&books), API_MALLOC)->peak_live_bytes, 100);
	assert_int_equal(site_of(look(&books), API_CALLOC)->peak_live_bytes, 60);
	assert_int_equal(site_of(look(&books), API_REALLOC)->peak_live_bytes, 70);
	books_close(&books);
}

static void test_ages(void **state)
{
	struct books books = books_default();
	uint64_t first = books.now_ns + MS;

	(void)state;
	tell_malloc(&books, A, 1);
	tell_malloc(&books, B, 1);
	assert_int_equal(look(&books)->sites[0].first_seen_ns, first);
	assert_int_equal(look(&books)->sites[0].oldest_ns, first);
	tell_free(&books, A);
	assert_int_equal(look(&books)->sites[0].oldest_ns, first + MS);
	tell_free(&books, B);
	assert_int_equal(look(&books)->sites[0].oldest_ns, 0);
	books_close(&books);
}

static void test_exec(void **state)
{
	struct books books = books_default();
	const struct snapshot_process *old;

	(void)state;
	tell_malloc(&books, A, 10);
	tell_malloc(&books, B, 10);
	tell_begin(&books, API_REALLOC, ARGUMENTS(B, 20));
	tell_process(&books, EVENT_EXEC, START_TIME);
	tell_free(&books, A);
	CHECK(&books, .unmatched = 1);
	assert_int_equal(look(&books)->image, 1);
	assert_false(look(&books)->replaced);
	books_look(&books);
	assert_int_equal(books.snapshot->process_count, 2);
	old = &books.snapshot->processes[0];
	assert_int_equal(old->image, 0);
	assert_true(old->replaced);
	assert_false(old->exited);
	assert_int_equal(old->live.bytes, 20);
	assert_true(old->sites[0].oldest_ns > 0);
	books_close(&books);
}

static void test_exit(void **state)
{
	struct books books = books_default();
	uint64_t end;

	(void)state;
	tell_malloc(&books, A, 10);
	tell(&books, (struct event){.kind = EVENT_EXIT, .exit = {.code = 0x300}});
	end = books.now_ns;
	tell_malloc(&books, B, 10); /* too late */
	CHECK(&books, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10);
	assert_true(look(&books)->exited);
	assert_int_equal(look(&books)->exit_code, 0x300);
	assert_int_equal(look(&books)->traced_until_ns, end);
	assert_int_equal(books.snapshot->dropped, 1);
	assert_int_equal(model_memory(books.model), 0);
	books_close(&books);
}

static void test_recycled_pid(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_process(&books, EVENT_PROCESS, START_TIME); /* already known */
	CHECK(&books, .allocations = 1, .bytes_allocated = 10, .live_bytes = 10);
	tell_process(&books, EVENT_PROCESS, START_TIME + 1);
	CHECK(&books, 0);
	assert_int_equal(look(&books)->image, 0);
	books_look(&books);
	assert_int_equal(books.snapshot->process_count, 2);
	assert_int_equal(books.snapshot->processes[0].live.bytes, 10);
	books_close(&books);
}

static void test_two_processes(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	books.pid++;
	tell_process(&books, EVENT_PROCESS, START_TIME);
	tell_free(&books, A);
	CHECK(&books, .unmatched = 1);
	assert_int_equal(books.snapshot->processes[0].live.bytes, 10);
	books_close(&books);
}

static void test_invalid_events(void **state)
{
	struct books books = books_default();
	uint64_t dropped = 0;

	(void)state;
	tell_call(&books, EVENT_ALLOC, API_COUNT, 0, A, 10);
	tell_call(&books, EVENT_ALLOC, API_NONE, 0, A, 10);
	tell_call(&books, EVENT_ALLOC, API_FREE, 0, A, 10);
	tell_call(&books, EVENT_FREE, API_MALLOC, 0, A, 10);
	tell_call(&books, EVENT_BEGIN, API_MALLOC, 0, A, 10);
	tell_call(&books, EVENT_END, API_FREE, 0, A, 10);
	tell_call(&books, EVENT_KIND_COUNT, API_MALLOC, 0, A, 10);
	tell(&books, (struct event){.kind = EVENT_WRAPPER, .wrapper = {0, UINT64_MAX, API_COUNT}});
	dropped += 8;
	books.pid++;
	tell_malloc(&books, A, 10);
	tell_process(&books, EVENT_EXEC, START_TIME);
	dropped += 2;
	books.pid--;
	CHECK(&books, 0);
	assert_int_equal(books.snapshot->dropped, dropped);
	tell_malloc(&books, A, UINT64_MAX);
	tell_malloc(&books, B, UINT64_MAX);
	books_look(&books);
	books_close(&books);
}

static void test_losses_are_reported(void **state)
{
	struct snapshot_losses told = {.events = 3, .unmatched_frees = 4, .gap_ns = 5};
	struct books books = books_default();

	(void)state;
	tell_free(&books, A);
	tell_losses(&books, &told);
	tell_losses(&books, &told); /* replaces the counts */
	assert_int_equal(look(&books)->losses.events, 3);
	assert_int_equal(look(&books)->losses.unmatched_frees, 5);
	assert_int_equal(look(&books)->losses.gap_ns, 5);
	books_close(&books);
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
