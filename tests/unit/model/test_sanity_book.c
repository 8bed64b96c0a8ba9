/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which frees are errors, and which are not judged. */
#include "tests/unit/books.h"

#include "model/process/process.h"

#define A 0x10000ULL
#define B 0x20000ULL

/* A process with every block known. */
static struct books launched(void)
{
	static const struct model_config config = {
		.apis = API_SET_ALL, .wrappers = true, .sanity = true};
	struct books books = {.pid = PID, .tid = PID, .caller = PROGRAM + 0x10};

	assert_int_equal(model_new(&books.model, &config), 0);
	tell(&books, (struct event){.kind = EVENT_PROCESS,
				    .process = {.start_time_ns = START_TIME, .from_start = true}});
	tell_objects(&books);
	return books;
}

static uint16_t by(unsigned int api)
{
	return RECORD_FLAG_OPERATOR(api);
}

static void tell_alloc(struct books *books, unsigned int operator, uint64_t address, uint64_t size)
{
	tell_call(books, EVENT_ALLOC, API_MALLOC, by(operator), address, size);
}

static void tell_sized(struct books *books, unsigned int operator, uint64_t address, uint64_t size,
		       uint64_t slack)
{
	tell(books, (struct event){.kind = EVENT_FREE,
				   .api = API_FREE,
				   .flags = by(operator),
				   .call = {.address = address,
					    .size = size,
					    .slack = slack,
					    .caller = books->caller,
					    .stack = books->stack}});
}

static void tell_release(struct books *books, unsigned int operator, uint64_t address)
{
	tell_sized(books, operator, address, SIZE_UNKNOWN, 0);
}

static const struct snapshot_error *only_error(struct books *books, enum sanity_kind kind)
{
	const struct snapshot_process *section = look(books);

	assert_int_equal(section->error_count, 1);
	assert_int_equal(section->errors[0].kind, kind);
	assert_int_equal(section->sanity.errors, section->errors[0].count);
	assert_int_equal(section->losses.unmatched_frees, 0);
	return &section->errors[0];
}

static void no_error(struct books *books)
{
	const struct snapshot_process *section = look(books);

	assert_int_equal(section->error_count, 0);
	assert_int_equal(section->sanity.errors, 0);
}

static const struct {
	unsigned int allocated, released;
	bool wrong;
} pairs[] = {
	{0, 0, false},
	{0, API_DELETE, true},
	{0, API_DELETE_ARRAY, true},
	{API_NEW, 0, true},
	{API_NEW, API_DELETE, false},
	{API_NEW, API_DELETE_ARRAY, true},
	{API_NEW_ARRAY, 0, true},
	{API_NEW_ARRAY, API_DELETE, true},
	{API_NEW_ARRAY, API_DELETE_ARRAY, false},
	{OPERATOR_UNKNOWN, 0, false},
	{OPERATOR_UNKNOWN, API_DELETE, false},
	{0, OPERATOR_UNKNOWN, false},
	{API_NEW, OPERATOR_UNKNOWN, false},
};

static void test_allocator_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct books books = launched();
		const struct snapshot_error *error;

		tell_alloc(&books, pairs[i].allocated, A, 24);
		tell_release(&books, pairs[i].released, A);
		if (pairs[i].wrong) {
			error = only_error(&books, SANITY_MISMATCHED_FREE);
			assert_int_equal(error->address, A);
			assert_int_equal(error->size, 24);
			assert_int_equal(error->api,
					 pairs[i].released ? pairs[i].released : API_FREE);
			assert_int_equal(error->allocated_by,
					 pairs[i].allocated ? pairs[i].allocated : API_MALLOC);
			assert_int_equal(books.snapshot->processes[0].sites[0].mismatched, 1);
		} else {
			no_error(&books);
		}
		books_close(&books);
	}
}

/* A block that is known only by the caller of malloc, operator new, may be one of new[] as well. A
 * delete that is the allocator's own function has no mark. */
static void test_unmarked_operators(void **state)
{
	struct books books = launched();

	(void)state;
	books.caller = OPERATOR_NEW + 0x10;
	tell_malloc(&books, A, 8);
	books.caller = PROGRAM + 0x10;
	tell_release(&books, API_DELETE_ARRAY, A);
	tell_malloc(&books, A, 8);
	tell_call(&books, EVENT_FREE, API_DELETE, 0, A, SIZE_UNKNOWN);
	tell_malloc(&books, A, 8);
	books.caller = OPERATOR_NEW + 0x10; /* a delete, a wrapper to the model */
	tell_release(&books, 0, A);
	no_error(&books);
	assert_int_equal(site_of(look(&books), API_NEW)->allocations, 1);
	books_close(&books);
}

static void test_sizes(void **state)
{
	static const struct {
		uint64_t size, told, slack;
		bool wrong;
	} sizes[] = {
		{24, 24, 0, false}, {24, 23, 0, true},   {24, 25, 0, true},  {1, 0, 0, false},
		{8, 0, 0, true},    {64, 40, 63, false}, {64, 65, 63, true}, {128, 40, 63, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct books books = launched();

		tell_alloc(&books, API_NEW, A, sizes[i].size);
		tell_sized(&books, API_DELETE, A, sizes[i].told, sizes[i].slack);
		if (sizes[i].wrong)
			assert_int_equal(only_error(&books, SANITY_SIZE_MISMATCH)->told,
					 sizes[i].told);
		else
			no_error(&books);
		books_close(&books);
	}
}

static void stack_of(struct books *books, uint64_t id)
{
	const uint64_t frames[] = {PROGRAM + 0x100 * id};

	tell_stack(books, id, frames, 1, 0);
	books->stack = id;
}

static void test_double_free(void **state)
{
	struct books books = launched();
	const struct snapshot_error *error;
	const struct snapshot_process *section;

	(void)state;
	for (int i = 0; i < 3; i++) {
		stack_of(&books, 1);
		tell_malloc(&books, A, 24);
		stack_of(&books, 2);
		tell_release(&books, 0, A);
		stack_of(&books, 3);
		tell_release(&books, API_DELETE, A);
	}
	error = only_error(&books, SANITY_DOUBLE_FREE);
	section = &books.snapshot->processes[0];
	assert_int_equal(error->count, 3);
	assert_int_equal(error->freed_by, API_FREE);
	assert_int_equal(error->api, API_DELETE);
	assert_int_equal(section->stacks[error->allocated_at].frames[0].address, PROGRAM + 0x100);
	assert_int_equal(section->stacks[error->freed_at].frames[0].address, PROGRAM + 0x200);
	assert_int_equal(section->stacks[error->freed_again_at].frames[0].address, PROGRAM + 0x300);
	assert_int_equal(section->sites[0].bad_frees, 3);
	assert_int_equal(section->totals.frees, 3);
	books_close(&books);
}

static void test_reused_address(void **state)
{
	struct books books = launched();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		tell_malloc(&books, A, 24);
		tell_release(&books, 0, A);
	}
	tell_malloc(&books, A, 24);
	no_error(&books);
	books_close(&books);
}

static void test_invalid_free(void **state)
{
	struct books books = launched();
	const struct snapshot_error *error;

	(void)state;
	tell_malloc(&books, A, 24);
	tell_release(&books, 0, A + 8);
	error = only_error(&books, SANITY_INVALID_FREE);
	assert_int_equal(error->site, INDEX_NONE);
	assert_int_equal(error->allocated_at, INDEX_NONE);
	assert_int_equal(error->address, A + 8);
	books_close(&books);
}

/* A block that the parent freed is free in the child as well. */
static void test_child_frees_again(void **state)
{
	struct books books = launched();

	(void)state;
	tell_malloc(&books, A, 24);
	tell_malloc(&books, B, 24);
	tell_release(&books, 0, A);
	tell_fork(&books, PID + 1, START_TIME + 1, false);
	tell_release(&books, 0, B);
	books_turn(&books, PID + 1);
	tell_release(&books, 0, B);
	no_error(&books);
	tell_release(&books, 0, A);
	assert_int_equal(only_error(&books, SANITY_DOUBLE_FREE)->address, A);
	assert_int_equal(look_at(&books, PID)->error_count, 0);
	books_close(&books);
}

/* A new image starts without blocks, and is traced from its first call. */
static void test_invalid_free_after_exec(void **state)
{
	struct books books = launched();

	(void)state;
	tell_malloc(&books, A, 24);
	tell(&books, (struct event){.kind = EVENT_EXEC,
				    .process = {.start_time_ns = START_TIME, .from_start = true}});
	tell_objects(&books);
	tell_release(&books, 0, A);
	assert_int_equal(only_error(&books, SANITY_INVALID_FREE)->address, A);
	books_close(&books);
}

static void test_realloc_releases(void **state)
{
	struct books books = launched();

	(void)state;
	tell_alloc(&books, API_NEW, A, 24);
	tell_begin(&books, API_REALLOC, ARGUMENTS(A, 100));
	tell_end(&books, API_REALLOC, B, 100);
	assert_int_equal(only_error(&books, SANITY_MISMATCHED_FREE)->api, API_REALLOC);
	tell_begin(&books, API_REALLOC, ARGUMENTS(B, 200)); /* in place */
	tell_end(&books, API_REALLOC, B, 200);
	tell_begin(&books, API_REALLOC, ARGUMENTS(B, 1ULL << 60));
	tell_failed(&books, API_REALLOC, 1ULL << 60);
	tell_release(&books, 0, B);
	only_error(&books, SANITY_MISMATCHED_FREE);
	books_close(&books);
}

/* realloc never returns, because the allocator aborts the program. */
static void test_realloc_of_freed(void **state)
{
	struct books books = launched();

	(void)state;
	tell_malloc(&books, A, 24);
	tell_release(&books, 0, A);
	tell_begin(&books, API_REALLOC, ARGUMENTS(A, 100));
	tell(&books, (struct event){.kind = EVENT_EXIT, .exit = {.code = 6}});
	assert_int_equal(only_error(&books, SANITY_DOUBLE_FREE)->api, API_REALLOC);
	books_close(&books);
}

/* While realloc moves a block, another thread gets its old address and keeps it. */
static void test_realloc_races(void **state)
{
	struct books books = launched();

	(void)state;
	tell_malloc(&books, A, 24);
	tell_begin(&books, API_REALLOC, ARGUMENTS(A, 100));
	books.tid++;
	tell_malloc(&books, A, 24);
	books.tid--;
	tell_end(&books, API_REALLOC, B, 100);
	tell_release(&books, 0, A);
	tell_release(&books, 0, B);
	no_error(&books);
	books_close(&books);
}

static void test_frees_within_libraries(void **state)
{
	struct books books = launched();

	(void)state;
	tell_malloc(&books, A, 24);
	tell_release(&books, 0, A);
	books.caller = LIBC + 0x10;
	tell_release(&books, 0, A);
	books.caller = PROGRAM + 0x10;
	tell(&books, (struct event){.kind = EVENT_THREAD_EXITS});
	tell_release(&books, 0, A);
	no_error(&books);
	assert_int_equal(books.snapshot->processes[0].internal.frees, 2);
	books_close(&books);
}

static void expect_unjudged(struct books *books, uint64_t frees)
{
	no_error(books);
	assert_int_equal(books->snapshot->processes[0].sanity.unjudged, frees);
	assert_int_equal(books->snapshot->processes[0].losses.unmatched_frees, frees);
	assert_int_equal(books->snapshot->processes[0].sites[0].bad_frees, 0);
}

static void test_losses_prevent_judgement(void **state)
{
	static const struct snapshot_losses losses[] = {
		{.events = 1}, {.missed_returns = 1}, {.unprobed_sites = 1}, {.gap_ns = 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct books books = launched();

		tell_malloc(&books, A, 24);
		tell_release(&books, 0, A);
		tell_release(&books, 0, A);
		tell_release(&books, 0, B);
		assert_int_equal(look(&books)->error_count, 2);
		tell_losses(&books, &losses[i]);
		expect_unjudged(&books, 2);
		books_close(&books);
	}
}

/* Blocks from before the attach are unknown, but double frees since then are found. */
static void test_attached(void **state)
{
	struct books books = books_open(
		(struct model_config){.apis = API_SET_ALL, .wrappers = true, .sanity = true});
	const struct snapshot_process *section;

	(void)state;
	tell_malloc(&books, A, 24);
	tell_release(&books, 0, B);
	expect_unjudged(&books, 1);
	tell_release(&books, 0, A);
	tell_release(&books, 0, A);
	section = look(&books);
	assert_int_equal(section->error_count, 1);
	assert_int_equal(section->errors[0].kind, SANITY_DOUBLE_FREE);
	books_close(&books);
}

/* Probes of allocations are removed first, so the block may be a new one. */
static void test_frees_during_probe_removal(void **state)
{
	struct books books = launched();

	(void)state;
	tell_malloc(&books, A, 24);
	tell_release(&books, 0, A);
	model_unprobe(books.model);
	tell_release(&books, 0, A);
	no_error(&books);
	assert_int_equal(books.snapshot->processes[0].losses.unmatched_frees, 0);
	books_close(&books);
}

/* The number of remembered frees is limited, and the latest are kept. */
static void test_memory_is_bounded(void **state)
{
	struct books books = launched();
	const struct process *process = model_process(books.model, PID);

	(void)state;
	for (uint64_t i = 1; i <= 2 * FREED_MAX; i++) {
		tell_malloc(&books, 16 * i, 8);
		tell_release(&books, 0, 16 * i);
	}
	assert_int_equal(process->sanity.freed.count, FREED_MAX);
	assert_int_equal(process->sanity.by_address.count, FREED_MAX);
	tell_release(&books, 0, 16 * 2 * FREED_MAX);
	tell_release(&books, 0, 16);
	assert_int_equal(look(&books)->error_count, 2);
	assert_int_equal(books.snapshot->processes[0].errors[0].kind, SANITY_DOUBLE_FREE);
	assert_int_equal(books.snapshot->processes[0].errors[1].kind, SANITY_INVALID_FREE);
	books_close(&books);
}

static void test_errors_are_limited(void **state)
{
	struct books books = launched();
	const struct snapshot_process *section;

	(void)state;
	for (uint64_t i = 0; i < SANITY_ERROR_MAX + 10; i++) {
		books.caller = PROGRAM + 1 + i;
		tell_release(&books, 0, A);
	}
	section = look(&books);
	assert_int_equal(section->error_count, SANITY_ERROR_MAX);
	assert_int_equal(section->sanity.unlisted, 10);
	assert_int_equal(section->sanity.errors, SANITY_ERROR_MAX + 10);
	books_close(&books);
}

static void test_order(void **state)
{
	struct books books = launched();
	const struct snapshot_error *errors;

	(void)state;
	tell_alloc(&books, API_NEW, A, 24);
	tell_sized(&books, API_DELETE, A, 8, 0);
	tell_alloc(&books, API_NEW, A, 24);
	tell_release(&books, 0, A);
	tell_release(&books, 0, B);
	tell_release(&books, 0, A);
	assert_int_equal(look(&books)->error_count, SANITY_KIND_COUNT);
	errors = books.snapshot->processes[0].errors;
	for (int i = 0; i < SANITY_KIND_COUNT; i++)
		assert_int_equal(errors[i].kind, i);
	books_close(&books);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocator_kinds),
		cmocka_unit_test(test_unmarked_operators),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_double_free),
		cmocka_unit_test(test_reused_address),
		cmocka_unit_test(test_invalid_free),
		cmocka_unit_test(test_child_frees_again),
		cmocka_unit_test(test_invalid_free_after_exec),
		cmocka_unit_test(test_realloc_releases),
		cmocka_unit_test(test_realloc_of_freed),
		cmocka_unit_test(test_realloc_races),
		cmocka_unit_test(test_frees_within_libraries),
		cmocka_unit_test(test_losses_prevent_judgement),
		cmocka_unit_test(test_attached),
		cmocka_unit_test(test_frees_during_probe_removal),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_errors_are_limited),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
