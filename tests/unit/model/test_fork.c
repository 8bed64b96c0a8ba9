/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Children: models that start as a copy or are shared, pids that leave or are reused, case by case.
 * Random process trees are in test_tree.c.
 */
#include "model/book/scan.h"

#include "tests/unit/books.h"

#define A     0x1000ULL
#define B     0x2000ULL
#define C     0x3000ULL
#define CHILD (PID + 50)
#define OTHER (PID + 60)

/* ---- fork ---- */

static void test_child_inherits(void **state)
{
	struct books books = books_default();
	const struct snapshot_process *child;
	const struct snapshot_site *site;
	uint64_t first = books.now_ns + MS;

	(void)state;
	tell_malloc(&books, A, 10);
	tell_malloc(&books, B, 30);
	tell_free(&books, B);
	tell_fork(&books, CHILD, START_TIME + 5, false);
	child = look_at(&books, CHILD);
	assert_int_equal(child->ppid, PID);
	assert_int_equal(child->start_time_ns, START_TIME + 5);
	assert_int_equal(child->image, 0);
	assert_int_equal(child->origin, ORIGIN_FORKED);
	assert_string_equal(child->comm, "child");
	assert_string_equal(child->exe, "/bin/target");
	assert_string_equal(child->command[1], "-x");
	assert_string_equal(child->arch, "x86_64");
	assert_int_equal(child->totals.allocations, 0);
	assert_int_equal(child->totals.peak_live_bytes, 10);
	assert_int_equal(child->inherited.blocks, 1);
	assert_int_equal(child->live.bytes, 10);
	site = site_of(child, API_MALLOC);
	assert_int_equal(site->inherited_bytes, 10);
	assert_int_equal(site->peak_live_bytes, 10);
	assert_int_equal(site->first_seen_ns, first);
	assert_int_equal(site->oldest_ns, first);
	assert_int_equal(child->stacks[site->stack].frames[0].module_id, MODULE_PROGRAM);
	books_close(&books);
}

static void test_child_and_parent_are_independent(void **state)
{
	struct books books = books_default();
	const struct snapshot_process *section;

	(void)state;
	tell_malloc(&books, A, 10);
	tell_malloc(&books, B, 20);
	tell_fork(&books, CHILD, START_TIME, false);
	tell_free(&books, A);
	tell_malloc(&books, C, 1);
	books_turn(&books, CHILD);
	tell_free(&books, B);
	tell_malloc(&books, C, 5);
	tell_free(&books, A);
	tell_free(&books, A);
	section = look_at(&books, CHILD);
	assert_int_equal(section->totals.allocations, 1);
	assert_int_equal(section->totals.frees, 2);
	assert_int_equal(section->totals.bytes_freed, 30);
	assert_int_equal(section->live.bytes, 5);
	assert_int_equal(section->losses.unmatched_frees, 1);
	section = look_at(&books, PID);
	assert_int_equal(section->totals.allocations, 3);
	assert_int_equal(section->live.bytes, 21);
	assert_int_equal(section->losses.unmatched_frees, 0);
	assert_int_equal(section->inherited.blocks, 0);
	books_close(&books);
}

static void test_child_inherits_stacks_and_wrappers(void **state)
{
	static const uint64_t frame = PROGRAM + 0x40, in_new = OPERATOR_NEW + 4;
	struct books books = books_default();
	const struct snapshot_process *child;

	(void)state;
	tell_stack(&books, 7, &frame, 1, 0);
	tell_stack(&books, 8, &in_new, 1, 0);
	tell_call(&books, EVENT_END, API_MMAP, 0, 0x10000, 8192);
	tell_fork(&books, CHILD, START_TIME, false);
	books_turn(&books, CHILD);
	books.stack = 7; /* a stack that the parent announced */
	tell_malloc(&books, A, 1);
	books.stack = 8; /* and a wrapper */
	tell_malloc(&books, B, 1);
	tell_begin(&books, API_MUNMAP, ARGUMENTS(0x10000, 4096));
	tell_end(&books, API_MUNMAP, 0, 0);
	child = look_at(&books, CHILD);
	assert_int_equal(child->losses.stacks, 0);
	assert_non_null(site_of(child, API_NEW));
	assert_int_equal(child->mappings.bytes, 4096);
	assert_int_equal(site_of(child, API_MMAP)->inherited_bytes, 8192);
	assert_int_equal(look_at(&books, PID)->mappings.bytes, 8192);
	assert_null(site_of(look_at(&books, PID), API_NEW));
	books_close(&books);
}

/* Only the thread that forked exists in the child: its realloc returns in both processes, that of
 * another thread only in the parent. */
static void test_pending_calls(void **state)
{
	struct books books = books_default();
	const struct snapshot_process *section;

	(void)state;
	tell_malloc(&books, A, 10);
	tell_malloc(&books, B, 20);
	tell_begin(&books, API_REALLOC, ARGUMENTS(A, 11));
	books.tid++;
	tell_begin(&books, API_REALLOC, ARGUMENTS(B, 21));
	books.tid--;
	tell_fork(&books, CHILD, START_TIME, false);
	books.tid++;
	tell_end(&books, API_REALLOC, B, 21);
	books.tid--;
	books_turn(&books, CHILD);
	tell_end(&books, API_REALLOC, A, 11);
	tell_free(&books, B);
	section = look_at(&books, CHILD);
	assert_int_equal(section->live.bytes, 11);
	assert_int_equal(section->totals.frees, 2);
	assert_int_equal(section->losses.missed_returns + section->losses.unmatched_frees, 0);
	assert_int_equal(look_at(&books, PID)->live.bytes, 31);
	books_turn(&books, PID);
	tell_end(&books, API_REALLOC, A, 11);
	section = look_at(&books, PID);
	assert_int_equal(section->live.bytes, 32);
	assert_int_equal(section->losses.missed_returns, 0);
	books_close(&books);
}

static void test_ending_thread_forks(void **state)
{
	struct books books = books_default();

	(void)state;
	books.tid = PID + 3;
	tell(&books, (struct event){.kind = EVENT_THREAD_EXITS});
	tell_fork(&books, CHILD, START_TIME, false);
	books_turn(&books, CHILD);
	tell_free(&books, A);
	assert_int_equal(look_at(&books, CHILD)->internal.frees, 1);
	books_close(&books);
}

static void test_losses_stay_with_the_parent(void **state)
{
	struct snapshot_losses told = {.events = 2};
	struct books books = books_default();

	(void)state;
	tell_free(&books, A);
	tell_losses(&books, &told);
	tell_fork(&books, CHILD, START_TIME, false);
	assert_int_equal(look_at(&books, CHILD)->losses.unmatched_frees, 0);
	assert_int_equal(look_at(&books, CHILD)->losses.events, 0);
	told.events = 1;
	books_turn(&books, CHILD);
	tell_losses(&books, &told);
	assert_int_equal(look_at(&books, CHILD)->losses.events, 1);
	assert_int_equal(look_at(&books, PID)->losses.events, 2);
	books_close(&books);
}

/* A leak scan may trust the model of a child only if that of its parent was complete. */
static void test_child_is_complete_if_its_parent_is(void **state)
{
	struct books books = books_default();

	(void)state;
	books_turn(&books, OTHER);
	tell(&books, (struct event){.kind = EVENT_PROCESS, .process = {.from_start = true}});
	tell_fork(&books, CHILD, START_TIME, false);
	tell_free(&books, A);
	tell_fork(&books, CHILD + 1, START_TIME, false);
	books_turn(&books, CHILD + 1);
	tell_fork(&books, CHILD + 2, START_TIME, false);
	assert_true(scan_book_is_complete(model_process(books.model, CHILD)));
	assert_false(scan_book_is_complete(model_process(books.model, CHILD + 1)));
	assert_false(scan_book_is_complete(model_process(books.model, CHILD + 2)));
	books_close(&books);
}

static void test_unknown_parent(void **state)
{
	struct books books = books_default();

	(void)state;
	books.pid = OTHER;
	tell_fork(&books, CHILD, START_TIME, false);
	tell_fork(&books, CHILD, START_TIME, true);
	tell_fork(&books, OTHER, START_TIME, true);
	books_turn(&books, PID);
	tell_fork(&books, PID, START_TIME + 1, false); /* its own pid: closes it */
	books_turn(&books, CHILD);
	tell_malloc(&books, A, 1);
	books_look(&books);
	assert_int_equal(books.snapshot->dropped, 5);
	assert_int_equal(books.snapshot->process_count, 1);
	books_close(&books);
}

static void test_recycled_pid(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_fork(&books, CHILD, START_TIME, false);
	books_turn(&books, CHILD);
	tell_malloc(&books, A, 10);
	books_turn(&books, PID);
	tell_fork(&books, CHILD, START_TIME, false); /* already known */
	assert_int_equal(look_at(&books, CHILD)->live.bytes, 10);
	tell_fork(&books, CHILD, START_TIME + 1, false);
	assert_int_equal(look_at(&books, CHILD)->live.bytes, 0);
	assert_int_equal(books.snapshot->process_count, 3);
	assert_int_equal(books.snapshot->dropped, 0);
	books_close(&books);
}

/* ---- vfork ---- */

static void test_vfork_child_shares_the_model(void **state)
{
	struct books books = books_default();
	const struct snapshot_process *section;
	struct snapshot_losses told = {.events = 3};

	(void)state;
	tell_malloc(&books, A, 10);
	tell_fork(&books, CHILD, START_TIME, true);
	books_turn(&books, CHILD);
	tell_malloc(&books, B, 20);
	tell_free(&books, A);
	tell_mapping(&books, PROGRAM + 2 * OBJECT_SIZE, OBJECT_SIZE, 0, 9, 0);
	tell_losses(&books, &told);
	assert_null(look_at(&books, CHILD));
	section = look_at(&books, PID);
	assert_int_equal(section->totals.allocations, 2);
	assert_int_equal(section->live.bytes, 20);
	tell_process(&books, EVENT_EXEC, START_TIME + 9);
	tell_malloc(&books, A, 5);
	section = look_at(&books, CHILD);
	assert_int_equal(section->image, 0);
	assert_int_equal(section->totals.allocations, 1);
	assert_int_equal(section->losses.events, 0);
	books_turn(&books, PID);
	tell_free(&books, B);
	section = look_at(&books, PID);
	assert_int_equal(section->live.bytes, 0);
	assert_false(section->replaced);
	assert_int_equal(section->losses.events, 3);
	books_close(&books);
}

static void test_shared_model_outlives_the_child(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_fork(&books, CHILD, START_TIME, true);
	books_turn(&books, CHILD);
	tell_begin(&books, API_REALLOC, ARGUMENTS(A, 11));
	tell_exit(&books);
	tell_malloc(&books, B, 1); /* too late */
	books_turn(&books, PID);
	tell_free(&books, A);
	assert_int_equal(look_at(&books, PID)->totals.frees, 1);
	assert_int_equal(look_at(&books, PID)->live.bytes, 0);
	assert_false(look_at(&books, PID)->exited);
	assert_int_equal(books.snapshot->process_count, 1);
	assert_int_equal(books.snapshot->dropped, 1);
	books_close(&books);
}

static void test_parent_ends_first(void **state)
{
	struct books books = books_default();
	const struct snapshot_process *section;

	(void)state;
	tell_malloc(&books, A, 10);
	tell_fork(&books, CHILD, START_TIME + 1, true);
	tell_exit(&books);
	assert_null(look_at(&books, PID));
	books_turn(&books, CHILD);
	tell_free(&books, A);
	section = look_at(&books, CHILD);
	assert_int_equal(section->ppid, PID);
	assert_int_equal(section->start_time_ns, START_TIME + 1);
	assert_int_equal(section->totals.frees, 1);
	assert_false(section->exited);
	tell_process(&books, EVENT_EXEC, START_TIME + 1);
	assert_int_equal(look_at(&books, CHILD)->image, 1);
	assert_int_equal(books.snapshot->process_count, 2);
	assert_true(books.snapshot->processes[0].replaced);
	books_close(&books);
}

static void test_parent_execs_first(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_fork(&books, CHILD, START_TIME + 1, true);
	tell_process(&books, EVENT_EXEC, START_TIME);
	assert_int_equal(look_at(&books, PID)->image, 1);
	assert_int_equal(look_at(&books, PID)->live.bytes, 0);
	assert_int_equal(look_at(&books, CHILD)->image, 0);
	assert_int_equal(look_at(&books, CHILD)->live.bytes, 10);
	books_turn(&books, CHILD);
	tell_exit(&books);
	assert_true(look_at(&books, CHILD)->exited);
	assert_int_equal(books.snapshot->process_count, 2);
	books_close(&books);
}

static void test_vfork_child_that_forks(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_fork(&books, CHILD, START_TIME + 1, true);
	books_turn(&books, CHILD);
	tell_fork(&books, OTHER, START_TIME + 2, true);      /* a vfork child vforks … */
	tell_fork(&books, OTHER + 1, START_TIME + 3, false); /* … and forks */
	books_turn(&books, OTHER);
	tell_malloc(&books, B, 20);
	assert_int_equal(look_at(&books, PID)->live.bytes, 30);
	assert_int_equal(look_at(&books, OTHER + 1)->inherited.bytes, 10);
	assert_int_equal(look_at(&books, OTHER + 1)->ppid, CHILD);
	books_turn(&books, CHILD);
	tell_exit(&books);
	books_turn(&books, PID);
	tell_exit(&books);
	assert_int_equal(look_at(&books, OTHER)->live.bytes, 30);
	assert_int_equal(look_at(&books, OTHER)->ppid, CHILD);
	books_turn(&books, OTHER);
	tell_free(&books, B);
	tell_exit(&books);
	assert_int_equal(look_at(&books, OTHER)->live.bytes, 10);
	assert_true(look_at(&books, OTHER)->exited);
	books_close(&books);
}

/* The child's pid is reused, and its exit was not seen: the shared model stays with the parent. */
static void test_recycled_pid_of_vfork_child(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, A, 10);
	tell_fork(&books, CHILD, START_TIME + 1, true);
	tell_fork(&books, CHILD, START_TIME + 1, true); /* already known */
	tell_fork(&books, CHILD, START_TIME + 2, false);
	books_turn(&books, CHILD);
	tell_free(&books, A);
	tell_process(&books, EVENT_PROCESS, START_TIME + 2); /* already known */
	assert_int_equal(look_at(&books, CHILD)->live.bytes, 0);
	books_turn(&books, PID);
	tell_fork(&books, OTHER, START_TIME + 1, true);
	books_turn(&books, OTHER);
	tell_process(&books, EVENT_PROCESS, START_TIME + 2);
	assert_int_equal(look_at(&books, OTHER)->live.bytes, 0);
	assert_int_equal(look_at(&books, PID)->live.bytes, 10);
	assert_int_equal(books.snapshot->process_count, 3);
	books_close(&books);
}

/* ---- leaving ---- */

static void test_process_leaves(void **state)
{
	struct books books = books_open((struct model_config){.apis = API_SET_ALL, .scans = true});
	const struct snapshot_process *section;

	(void)state;
	tell_malloc(&books, A, 10);
	tell(&books, (struct event){.kind = EVENT_LEAVE});
	tell_malloc(&books, B, 10);
	tell(&books, (struct event){.kind = EVENT_LEAVE});
	section = look(&books);
	assert_true(section->left);
	assert_false(section->exited);
	assert_false(section->replaced);
	assert_int_equal(section->live.bytes, 10);
	assert_non_null(strstr(section->scan.reason, "no longer traced"));
	assert_int_equal(books.snapshot->dropped, 2);
	books_close(&books);
}

static void test_vfork_child_leaves(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_fork(&books, CHILD, START_TIME, true);
	books_turn(&books, CHILD);
	tell(&books, (struct event){.kind = EVENT_LEAVE});
	tell_malloc(&books, B, 10);
	books_turn(&books, PID);
	tell_malloc(&books, B, 10);
	assert_false(look_at(&books, PID)->left);
	assert_int_equal(books.snapshot->dropped, 1);
	assert_int_equal(books.snapshot->process_count, 1);
	books_close(&books);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child_inherits),
		cmocka_unit_test(test_child_and_parent_are_independent),
		cmocka_unit_test(test_child_inherits_stacks_and_wrappers),
		cmocka_unit_test(test_pending_calls),
		cmocka_unit_test(test_ending_thread_forks),
		cmocka_unit_test(test_losses_stay_with_the_parent),
		cmocka_unit_test(test_child_is_complete_if_its_parent_is),
		cmocka_unit_test(test_unknown_parent),
		cmocka_unit_test(test_recycled_pid),
		cmocka_unit_test(test_vfork_child_shares_the_model),
		cmocka_unit_test(test_shared_model_outlives_the_child),
		cmocka_unit_test(test_parent_ends_first),
		cmocka_unit_test(test_parent_execs_first),
		cmocka_unit_test(test_vfork_child_that_forks),
		cmocka_unit_test(test_recycled_pid_of_vfork_child),
		cmocka_unit_test(test_process_leaves),
		cmocka_unit_test(test_vfork_child_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
