/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which frees are errors, and which are uncertain. */
#include "tests/unit/model_fixture.h"

#include "model/process/process.h"

#define A 0x10000ULL
#define B 0x20000ULL

/* A process with every block known. */
static struct model_fixture launched(void)
{
	static const struct model_config config = {
		.apis = API_SET_ALL, .wrappers = true, .sanity = true};
	struct model_fixture fixture = {.pid = PID, .tid = PID, .caller = PROGRAM + 0x10};

	assert_int_equal(model_new(&fixture.model, &config), 0);
	send_event(&fixture,
		   (struct event){.kind = EVENT_PROCESS,
				  .process = {.start_time_ns = START_TIME, .from_start = true}});
	send_objects(&fixture);
	return fixture;
}

static uint16_t by(unsigned int api)
{
	return RECORD_FLAG_OPERATOR(api);
}

static void send_alloc(struct model_fixture *fixture, unsigned int operator, uint64_t address,
		       uint64_t size)
{
	send_call(fixture, EVENT_ALLOC, API_MALLOC, by(operator), address, size);
}

static void send_sized(struct model_fixture *fixture, unsigned int operator, uint64_t address,
		       uint64_t size, uint64_t slack)
{
	send_event(fixture, (struct event){.kind = EVENT_FREE,
					   .api = API_FREE,
					   .flags = by(operator),
					   .call = {.address = address,
						    .size = size,
						    .slack = slack,
						    .caller = fixture->caller,
						    .stack = fixture->stack}});
}

static void send_release(struct model_fixture *fixture, unsigned int operator, uint64_t address)
{
	send_sized(fixture, operator, address, SIZE_UNKNOWN, 0);
}

static const struct snapshot_error *only_error(struct model_fixture *fixture, enum sanity_kind kind)
{
	const struct snapshot_process *section = look(fixture);

	assert_int_equal(section->error_count, 1);
	assert_int_equal(section->errors[0].kind, kind);
	assert_int_equal(section->sanity.errors, section->errors[0].count);
	assert_int_equal(section->losses.unmatched_frees, 0);
	return &section->errors[0];
}

static void no_error(struct model_fixture *fixture)
{
	const struct snapshot_process *section = look(fixture);

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
		struct model_fixture fixture = launched();
		const struct snapshot_error *error;

		send_alloc(&fixture, pairs[i].allocated, A, 24);
		send_release(&fixture, pairs[i].released, A);
		if (pairs[i].wrong) {
			error = only_error(&fixture, SANITY_MISMATCHED_FREE);
			assert_int_equal(error->address, A);
			assert_int_equal(error->size, 24);
			assert_int_equal(error->api,
					 pairs[i].released ? pairs[i].released : API_FREE);
			assert_int_equal(error->allocated_by,
					 pairs[i].allocated ? pairs[i].allocated : API_MALLOC);
			assert_int_equal(fixture.snapshot->processes[0].sites[0].mismatched, 1);
		} else {
			no_error(&fixture);
		}
		fixture_close(&fixture);
	}
}

/* Two cases are uncertain: a malloc call from operator new, because new[] may have called that,
 * and a delete that the allocator defines, because it leaves no mark. */
static void test_unmarked_operators(void **state)
{
	struct model_fixture fixture = launched();

	(void)state;
	fixture.caller = OPERATOR_NEW + 0x10;
	send_malloc(&fixture, A, 8);
	fixture.caller = PROGRAM + 0x10;
	send_release(&fixture, API_DELETE_ARRAY, A);
	send_malloc(&fixture, A, 8);
	send_call(&fixture, EVENT_FREE, API_DELETE, 0, A, SIZE_UNKNOWN);
	send_malloc(&fixture, A, 8);
	fixture.caller = OPERATOR_NEW + 0x10; /* a delete, a wrapper to the model */
	send_release(&fixture, 0, A);
	no_error(&fixture);
	assert_int_equal(site_of(look(&fixture), API_NEW)->allocations, 1);
	fixture_close(&fixture);
}

static void test_sizes(void **state)
{
	static const struct {
		uint64_t size, sent, slack;
		bool wrong;
	} sizes[] = {
		{24, 24, 0, false}, {24, 23, 0, true},   {24, 25, 0, true},  {1, 0, 0, false},
		{8, 0, 0, true},    {64, 40, 63, false}, {64, 65, 63, true}, {128, 40, 63, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct model_fixture fixture = launched();

		send_alloc(&fixture, API_NEW, A, sizes[i].size);
		send_sized(&fixture, API_DELETE, A, sizes[i].sent, sizes[i].slack);
		if (sizes[i].wrong)
			assert_int_equal(only_error(&fixture, SANITY_SIZE_MISMATCH)->passed_size,
					 sizes[i].sent);
		else
			no_error(&fixture);
		fixture_close(&fixture);
	}
}

static void stack_of(struct model_fixture *fixture, uint64_t id)
{
	const uint64_t frames[] = {PROGRAM + 0x100 * id};

	send_stack(fixture, id, frames, 1, 0);
	fixture->stack = id;
}

static void test_double_free(void **state)
{
	struct model_fixture fixture = launched();
	const struct snapshot_error *error;
	const struct snapshot_process *section;

	(void)state;
	for (int i = 0; i < 3; i++) {
		stack_of(&fixture, 1);
		send_malloc(&fixture, A, 24);
		stack_of(&fixture, 2);
		send_release(&fixture, 0, A);
		stack_of(&fixture, 3);
		send_release(&fixture, API_DELETE, A);
	}
	error = only_error(&fixture, SANITY_DOUBLE_FREE);
	section = &fixture.snapshot->processes[0];
	assert_int_equal(error->count, 3);
	assert_int_equal(error->freed_by, API_FREE);
	assert_int_equal(error->api, API_DELETE);
	assert_int_equal(section->stacks[error->allocated_at].frames[0].address, PROGRAM + 0x100);
	assert_int_equal(section->stacks[error->freed_at].frames[0].address, PROGRAM + 0x200);
	assert_int_equal(section->stacks[error->freed_again_at].frames[0].address, PROGRAM + 0x300);
	assert_int_equal(section->sites[0].bad_frees, 3);
	assert_int_equal(section->totals.frees, 3);
	fixture_close(&fixture);
}

static void test_reused_address(void **state)
{
	struct model_fixture fixture = launched();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		send_malloc(&fixture, A, 24);
		send_release(&fixture, 0, A);
	}
	send_malloc(&fixture, A, 24);
	no_error(&fixture);
	fixture_close(&fixture);
}

static void test_invalid_free(void **state)
{
	struct model_fixture fixture = launched();
	const struct snapshot_error *error;

	(void)state;
	send_malloc(&fixture, A, 24);
	send_release(&fixture, 0, A + 8);
	error = only_error(&fixture, SANITY_INVALID_FREE);
	assert_int_equal(error->site, INDEX_NONE);
	assert_int_equal(error->allocated_at, INDEX_NONE);
	assert_int_equal(error->address, A + 8);
	fixture_close(&fixture);
}

/* A block that the parent freed is free in the child as well. */
static void test_child_frees_again(void **state)
{
	struct model_fixture fixture = launched();

	(void)state;
	send_malloc(&fixture, A, 24);
	send_malloc(&fixture, B, 24);
	send_release(&fixture, 0, A);
	send_fork(&fixture, PID + 1, START_TIME + 1, false);
	send_release(&fixture, 0, B);
	fixture_switch_to(&fixture, PID + 1);
	send_release(&fixture, 0, B);
	no_error(&fixture);
	send_release(&fixture, 0, A);
	assert_int_equal(only_error(&fixture, SANITY_DOUBLE_FREE)->address, A);
	assert_int_equal(look_at(&fixture, PID)->error_count, 0);
	fixture_close(&fixture);
}

/* A new image starts without blocks, and is traced from its first call. */
static void test_invalid_free_after_exec(void **state)
{
	struct model_fixture fixture = launched();

	(void)state;
	send_malloc(&fixture, A, 24);
	send_event(&fixture,
		   (struct event){.kind = EVENT_EXEC,
				  .process = {.start_time_ns = START_TIME, .from_start = true}});
	send_objects(&fixture);
	send_release(&fixture, 0, A);
	assert_int_equal(only_error(&fixture, SANITY_INVALID_FREE)->address, A);
	fixture_close(&fixture);
}

static void test_realloc_releases(void **state)
{
	struct model_fixture fixture = launched();

	(void)state;
	send_alloc(&fixture, API_NEW, A, 24);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 100));
	send_end(&fixture, API_REALLOC, B, 100);
	assert_int_equal(only_error(&fixture, SANITY_MISMATCHED_FREE)->api, API_REALLOC);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(B, 200)); /* in place */
	send_end(&fixture, API_REALLOC, B, 200);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(B, 1ULL << 60));
	send_failed(&fixture, API_REALLOC, 1ULL << 60);
	send_release(&fixture, 0, B);
	only_error(&fixture, SANITY_MISMATCHED_FREE);
	fixture_close(&fixture);
}

/* realloc never returns, because the allocator aborts the program. */
static void test_realloc_of_freed(void **state)
{
	struct model_fixture fixture = launched();

	(void)state;
	send_malloc(&fixture, A, 24);
	send_release(&fixture, 0, A);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 100));
	send_event(&fixture, (struct event){.kind = EVENT_EXIT, .exit = {.code = 6}});
	assert_int_equal(only_error(&fixture, SANITY_DOUBLE_FREE)->api, API_REALLOC);
	fixture_close(&fixture);
}

/* While realloc moves a block, another thread gets its old address and keeps it. */
static void test_realloc_races(void **state)
{
	struct model_fixture fixture = launched();

	(void)state;
	send_malloc(&fixture, A, 24);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 100));
	fixture.tid++;
	send_malloc(&fixture, A, 24);
	fixture.tid--;
	send_end(&fixture, API_REALLOC, B, 100);
	send_release(&fixture, 0, A);
	send_release(&fixture, 0, B);
	no_error(&fixture);
	fixture_close(&fixture);
}

static void test_frees_within_libraries(void **state)
{
	struct model_fixture fixture = launched();

	(void)state;
	send_malloc(&fixture, A, 24);
	send_release(&fixture, 0, A);
	fixture.caller = LIBC + 0x10;
	send_release(&fixture, 0, A);
	fixture.caller = PROGRAM + 0x10;
	send_event(&fixture, (struct event){.kind = EVENT_THREAD_EXITS});
	send_release(&fixture, 0, A);
	no_error(&fixture);
	assert_int_equal(fixture.snapshot->processes[0].internal.frees, 2);
	fixture_close(&fixture);
}

static void expect_uncertain(struct model_fixture *fixture, uint64_t frees)
{
	no_error(fixture);
	assert_int_equal(fixture->snapshot->processes[0].sanity.uncertain, frees);
	assert_int_equal(fixture->snapshot->processes[0].losses.unmatched_frees, frees);
	assert_int_equal(fixture->snapshot->processes[0].sites[0].bad_frees, 0);
}

static void test_losses_make_frees_uncertain(void **state)
{
	static const struct snapshot_losses losses[] = {
		{.events = 1}, {.missed_returns = 1}, {.unprobed_sites = 1}, {.gap_ns = 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct model_fixture fixture = launched();

		send_malloc(&fixture, A, 24);
		send_release(&fixture, 0, A);
		send_release(&fixture, 0, A);
		send_release(&fixture, 0, B);
		assert_int_equal(look(&fixture)->error_count, 2);
		send_losses(&fixture, &losses[i]);
		expect_uncertain(&fixture, 2);
		fixture_close(&fixture);
	}
}

/* Blocks from before the attach are unknown, but double frees since then are found. */
static void test_attached(void **state)
{
	struct model_fixture fixture = fixture_open(
		(struct model_config){.apis = API_SET_ALL, .wrappers = true, .sanity = true});
	const struct snapshot_process *section;

	(void)state;
	send_malloc(&fixture, A, 24);
	send_release(&fixture, 0, B);
	expect_uncertain(&fixture, 1);
	send_release(&fixture, 0, A);
	send_release(&fixture, 0, A);
	section = look(&fixture);
	assert_int_equal(section->error_count, 1);
	assert_int_equal(section->errors[0].kind, SANITY_DOUBLE_FREE);
	fixture_close(&fixture);
}

/* Probes of allocations are removed first, so the block may be a new one. */
static void test_frees_during_probe_removal(void **state)
{
	struct model_fixture fixture = launched();

	(void)state;
	send_malloc(&fixture, A, 24);
	send_release(&fixture, 0, A);
	model_unprobe(fixture.model);
	send_release(&fixture, 0, A);
	no_error(&fixture);
	assert_int_equal(fixture.snapshot->processes[0].losses.unmatched_frees, 0);
	fixture_close(&fixture);
}

/* The number of remembered frees is limited, and the latest are kept. */
static void test_memory_is_bounded(void **state)
{
	struct model_fixture fixture = launched();
	const struct process *process = model_process(fixture.model, PID);

	(void)state;
	for (uint64_t i = 1; i <= 2 * FREED_MAX; i++) {
		send_malloc(&fixture, 16 * i, 8);
		send_release(&fixture, 0, 16 * i);
	}
	assert_int_equal(process->sanity.freed.count, FREED_MAX);
	assert_int_equal(process->sanity.by_address.count, FREED_MAX);
	send_release(&fixture, 0, 16 * 2 * FREED_MAX);
	send_release(&fixture, 0, 16);
	assert_int_equal(look(&fixture)->error_count, 2);
	assert_int_equal(fixture.snapshot->processes[0].errors[0].kind, SANITY_DOUBLE_FREE);
	assert_int_equal(fixture.snapshot->processes[0].errors[1].kind, SANITY_INVALID_FREE);
	fixture_close(&fixture);
}

static void test_errors_are_limited(void **state)
{
	struct model_fixture fixture = launched();
	const struct snapshot_process *section;

	(void)state;
	for (uint64_t i = 0; i < SANITY_ERROR_MAX + 10; i++) {
		fixture.caller = PROGRAM + 1 + i;
		send_release(&fixture, 0, A);
	}
	section = look(&fixture);
	assert_int_equal(section->error_count, SANITY_ERROR_MAX);
	assert_int_equal(section->sanity.unlisted, 10);
	assert_int_equal(section->sanity.errors, SANITY_ERROR_MAX + 10);
	fixture_close(&fixture);
}

static void test_order(void **state)
{
	struct model_fixture fixture = launched();
	const struct snapshot_error *errors;

	(void)state;
	send_alloc(&fixture, API_NEW, A, 24);
	send_sized(&fixture, API_DELETE, A, 8, 0);
	send_alloc(&fixture, API_NEW, A, 24);
	send_release(&fixture, 0, A);
	send_release(&fixture, 0, B);
	send_release(&fixture, 0, A);
	assert_int_equal(look(&fixture)->error_count, SANITY_KIND_COUNT);
	errors = fixture.snapshot->processes[0].errors;
	for (int i = 0; i < SANITY_KIND_COUNT; i++)
		assert_int_equal(errors[i].kind, i);
	fixture_close(&fixture);
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
		cmocka_unit_test(test_losses_make_frees_uncertain),
		cmocka_unit_test(test_attached),
		cmocka_unit_test(test_frees_during_probe_removal),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_errors_are_limited),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
