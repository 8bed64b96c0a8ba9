/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Children: models that start as a copy or are shared, pids that leave or are reused, case by case.
 * Random process trees are in test_tree.c.
 */
#include "model/update/scan.h"

#include "tests/unit/model_fixture.h"

#define A     0x1000ULL
#define B     0x2000ULL
#define C     0x3000ULL
#define CHILD (PID + 50)
#define OTHER (PID + 60)

/* ---- fork ---- */

static void test_child_inherits(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *child;
	const struct snapshot_site *site;
	uint64_t first = fixture.now_ns + MS;

	(void)state;
	send_malloc(&fixture, A, 10);
	send_malloc(&fixture, B, 30);
	send_free(&fixture, B);
	send_fork(&fixture, CHILD, START_TIME + 5, false);
	child = look_at(&fixture, CHILD);
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
	fixture_close(&fixture);
}

static void test_child_and_parent_are_independent(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	(void)state;
	send_malloc(&fixture, A, 10);
	send_malloc(&fixture, B, 20);
	send_fork(&fixture, CHILD, START_TIME, false);
	send_free(&fixture, A);
	send_malloc(&fixture, C, 1);
	fixture_switch_to(&fixture, CHILD);
	send_free(&fixture, B);
	send_malloc(&fixture, C, 5);
	send_free(&fixture, A);
	send_free(&fixture, A);
	section = look_at(&fixture, CHILD);
	assert_int_equal(section->totals.allocations, 1);
	assert_int_equal(section->totals.frees, 2);
	assert_int_equal(section->totals.bytes_freed, 30);
	assert_int_equal(section->live.bytes, 5);
	assert_int_equal(section->losses.unmatched_frees, 1);
	section = look_at(&fixture, PID);
	assert_int_equal(section->totals.allocations, 3);
	assert_int_equal(section->live.bytes, 21);
	assert_int_equal(section->losses.unmatched_frees, 0);
	assert_int_equal(section->inherited.blocks, 0);
	fixture_close(&fixture);
}

static void test_child_inherits_stacks_and_wrappers(void **state)
{
	static const uint64_t frame = PROGRAM + 0x40, in_new = OPERATOR_NEW + 4;
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *child;

	(void)state;
	send_stack(&fixture, 7, &frame, 1, 0);
	send_stack(&fixture, 8, &in_new, 1, 0);
	send_call(&fixture, EVENT_END, API_MMAP, 0, 0x10000, 8192);
	send_fork(&fixture, CHILD, START_TIME, false);
	fixture_switch_to(&fixture, CHILD);
	fixture.stack = 7; /* a stack that the parent announced */
	send_malloc(&fixture, A, 1);
	fixture.stack = 8; /* and a wrapper */
	send_malloc(&fixture, B, 1);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(0x10000, 4096));
	send_end(&fixture, API_MUNMAP, 0, 0);
	child = look_at(&fixture, CHILD);
	assert_int_equal(child->losses.stacks, 0);
	assert_non_null(site_of(child, API_NEW));
	assert_int_equal(child->mappings.bytes, 4096);
	assert_int_equal(site_of(child, API_MMAP)->inherited_bytes, 8192);
	assert_int_equal(look_at(&fixture, PID)->mappings.bytes, 8192);
	assert_null(site_of(look_at(&fixture, PID), API_NEW));
	fixture_close(&fixture);
}

/* Only the thread that forked exists in the child: its realloc returns in both processes, that of
 * another thread only in the parent. */
static void test_pending_calls(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	(void)state;
	send_malloc(&fixture, A, 10);
	send_malloc(&fixture, B, 20);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 11));
	fixture.tid++;
	send_begin(&fixture, API_REALLOC, ARGUMENTS(B, 21));
	fixture.tid--;
	send_fork(&fixture, CHILD, START_TIME, false);
	fixture.tid++;
	send_end(&fixture, API_REALLOC, B, 21);
	fixture.tid--;
	fixture_switch_to(&fixture, CHILD);
	send_end(&fixture, API_REALLOC, A, 11);
	send_free(&fixture, B);
	section = look_at(&fixture, CHILD);
	assert_int_equal(section->live.bytes, 11);
	assert_int_equal(section->totals.frees, 2);
	assert_int_equal(section->losses.missed_returns + section->losses.unmatched_frees, 0);
	assert_int_equal(look_at(&fixture, PID)->live.bytes, 31);
	fixture_switch_to(&fixture, PID);
	send_end(&fixture, API_REALLOC, A, 11);
	section = look_at(&fixture, PID);
	assert_int_equal(section->live.bytes, 32);
	assert_int_equal(section->losses.missed_returns, 0);
	fixture_close(&fixture);
}

static void test_ending_thread_forks(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	fixture.tid = PID + 3;
	send_event(&fixture, (struct event){.kind = EVENT_THREAD_EXITS});
	send_fork(&fixture, CHILD, START_TIME, false);
	fixture_switch_to(&fixture, CHILD);
	send_free(&fixture, A);
	assert_int_equal(look_at(&fixture, CHILD)->internal.frees, 1);
	fixture_close(&fixture);
}

static void test_losses_stay_with_the_parent(void **state)
{
	struct snapshot_losses sent = {.events = 2};
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_free(&fixture, A);
	send_losses(&fixture, &sent);
	send_fork(&fixture, CHILD, START_TIME, false);
	assert_int_equal(look_at(&fixture, CHILD)->losses.unmatched_frees, 0);
	assert_int_equal(look_at(&fixture, CHILD)->losses.events, 0);
	sent.events = 1;
	fixture_switch_to(&fixture, CHILD);
	send_losses(&fixture, &sent);
	assert_int_equal(look_at(&fixture, CHILD)->losses.events, 1);
	assert_int_equal(look_at(&fixture, PID)->losses.events, 2);
	fixture_close(&fixture);
}

/* A leak scan may trust the model of a child only if that of its parent was complete. */
static void test_child_is_complete_if_its_parent_is(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	fixture_switch_to(&fixture, OTHER);
	send_event(&fixture,
		   (struct event){.kind = EVENT_PROCESS, .process = {.from_start = true}});
	send_fork(&fixture, CHILD, START_TIME, false);
	send_free(&fixture, A);
	send_fork(&fixture, CHILD + 1, START_TIME, false);
	fixture_switch_to(&fixture, CHILD + 1);
	send_fork(&fixture, CHILD + 2, START_TIME, false);
	assert_true(scan_update_is_complete(model_process(fixture.model, CHILD)));
	assert_false(scan_update_is_complete(model_process(fixture.model, CHILD + 1)));
	assert_false(scan_update_is_complete(model_process(fixture.model, CHILD + 2)));
	fixture_close(&fixture);
}

static void test_unknown_parent(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	fixture.pid = OTHER;
	send_fork(&fixture, CHILD, START_TIME, false);
	send_fork(&fixture, CHILD, START_TIME, true);
	send_fork(&fixture, OTHER, START_TIME, true);
	fixture_switch_to(&fixture, PID);
	send_fork(&fixture, PID, START_TIME + 1, false); /* its own pid: closes it */
	fixture_switch_to(&fixture, CHILD);
	send_malloc(&fixture, A, 1);
	fixture_snapshot(&fixture);
	assert_int_equal(fixture.snapshot->dropped, 5);
	assert_int_equal(fixture.snapshot->process_count, 1);
	fixture_close(&fixture);
}

static void test_recycled_pid(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_fork(&fixture, CHILD, START_TIME, false);
	fixture_switch_to(&fixture, CHILD);
	send_malloc(&fixture, A, 10);
	fixture_switch_to(&fixture, PID);
	send_fork(&fixture, CHILD, START_TIME, false); /* already known */
	assert_int_equal(look_at(&fixture, CHILD)->live.bytes, 10);
	send_fork(&fixture, CHILD, START_TIME + 1, false);
	assert_int_equal(look_at(&fixture, CHILD)->live.bytes, 0);
	assert_int_equal(fixture.snapshot->process_count, 3);
	assert_int_equal(fixture.snapshot->dropped, 0);
	fixture_close(&fixture);
}

/* ---- vfork ---- */

static void test_vfork_child_shares_the_model(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;
	struct snapshot_losses sent = {.events = 3};

	(void)state;
	send_malloc(&fixture, A, 10);
	send_fork(&fixture, CHILD, START_TIME, true);
	fixture_switch_to(&fixture, CHILD);
	send_malloc(&fixture, B, 20);
	send_free(&fixture, A);
	send_mapping(&fixture, PROGRAM + 2 * OBJECT_SIZE, OBJECT_SIZE, 0, 9, 0);
	send_losses(&fixture, &sent);
	assert_null(look_at(&fixture, CHILD));
	section = look_at(&fixture, PID);
	assert_int_equal(section->totals.allocations, 2);
	assert_int_equal(section->live.bytes, 20);
	send_process(&fixture, EVENT_EXEC, START_TIME + 9);
	send_malloc(&fixture, A, 5);
	section = look_at(&fixture, CHILD);
	assert_int_equal(section->image, 0);
	assert_int_equal(section->totals.allocations, 1);
	assert_int_equal(section->losses.events, 0);
	fixture_switch_to(&fixture, PID);
	send_free(&fixture, B);
	section = look_at(&fixture, PID);
	assert_int_equal(section->live.bytes, 0);
	assert_false(section->replaced);
	assert_int_equal(section->losses.events, 3);
	fixture_close(&fixture);
}

static void test_shared_model_outlives_the_child(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_fork(&fixture, CHILD, START_TIME, true);
	fixture_switch_to(&fixture, CHILD);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(A, 11));
	send_exit(&fixture);
	send_malloc(&fixture, B, 1); /* too late */
	fixture_switch_to(&fixture, PID);
	send_free(&fixture, A);
	assert_int_equal(look_at(&fixture, PID)->totals.frees, 1);
	assert_int_equal(look_at(&fixture, PID)->live.bytes, 0);
	assert_false(look_at(&fixture, PID)->exited);
	assert_int_equal(fixture.snapshot->process_count, 1);
	assert_int_equal(fixture.snapshot->dropped, 1);
	fixture_close(&fixture);
}

static void test_parent_ends_first(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	(void)state;
	send_malloc(&fixture, A, 10);
	send_fork(&fixture, CHILD, START_TIME + 1, true);
	send_exit(&fixture);
	assert_null(look_at(&fixture, PID));
	fixture_switch_to(&fixture, CHILD);
	send_free(&fixture, A);
	section = look_at(&fixture, CHILD);
	assert_int_equal(section->ppid, PID);
	assert_int_equal(section->start_time_ns, START_TIME + 1);
	assert_int_equal(section->totals.frees, 1);
	assert_false(section->exited);
	send_process(&fixture, EVENT_EXEC, START_TIME + 1);
	assert_int_equal(look_at(&fixture, CHILD)->image, 1);
	assert_int_equal(fixture.snapshot->process_count, 2);
	assert_true(fixture.snapshot->processes[0].replaced);
	fixture_close(&fixture);
}

static void test_parent_execs_first(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_fork(&fixture, CHILD, START_TIME + 1, true);
	send_process(&fixture, EVENT_EXEC, START_TIME);
	assert_int_equal(look_at(&fixture, PID)->image, 1);
	assert_int_equal(look_at(&fixture, PID)->live.bytes, 0);
	assert_int_equal(look_at(&fixture, CHILD)->image, 0);
	assert_int_equal(look_at(&fixture, CHILD)->live.bytes, 10);
	fixture_switch_to(&fixture, CHILD);
	send_exit(&fixture);
	assert_true(look_at(&fixture, CHILD)->exited);
	assert_int_equal(fixture.snapshot->process_count, 2);
	fixture_close(&fixture);
}

static void test_vfork_child_that_forks(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_fork(&fixture, CHILD, START_TIME + 1, true);
	fixture_switch_to(&fixture, CHILD);
	send_fork(&fixture, OTHER, START_TIME + 2, true);      /* a vfork child vforks … */
	send_fork(&fixture, OTHER + 1, START_TIME + 3, false); /* … and forks */
	fixture_switch_to(&fixture, OTHER);
	send_malloc(&fixture, B, 20);
	assert_int_equal(look_at(&fixture, PID)->live.bytes, 30);
	assert_int_equal(look_at(&fixture, OTHER + 1)->inherited.bytes, 10);
	assert_int_equal(look_at(&fixture, OTHER + 1)->ppid, CHILD);
	fixture_switch_to(&fixture, CHILD);
	send_exit(&fixture);
	fixture_switch_to(&fixture, PID);
	send_exit(&fixture);
	assert_int_equal(look_at(&fixture, OTHER)->live.bytes, 30);
	assert_int_equal(look_at(&fixture, OTHER)->ppid, CHILD);
	fixture_switch_to(&fixture, OTHER);
	send_free(&fixture, B);
	send_exit(&fixture);
	assert_int_equal(look_at(&fixture, OTHER)->live.bytes, 10);
	assert_true(look_at(&fixture, OTHER)->exited);
	fixture_close(&fixture);
}

/* The child's pid is reused, and its exit was not seen: the shared model stays with the parent. */
static void test_recycled_pid_of_vfork_child(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_malloc(&fixture, A, 10);
	send_fork(&fixture, CHILD, START_TIME + 1, true);
	send_fork(&fixture, CHILD, START_TIME + 1, true); /* already known */
	send_fork(&fixture, CHILD, START_TIME + 2, false);
	fixture_switch_to(&fixture, CHILD);
	send_free(&fixture, A);
	send_process(&fixture, EVENT_PROCESS, START_TIME + 2); /* already known */
	assert_int_equal(look_at(&fixture, CHILD)->live.bytes, 0);
	fixture_switch_to(&fixture, PID);
	send_fork(&fixture, OTHER, START_TIME + 1, true);
	fixture_switch_to(&fixture, OTHER);
	send_process(&fixture, EVENT_PROCESS, START_TIME + 2);
	assert_int_equal(look_at(&fixture, OTHER)->live.bytes, 0);
	assert_int_equal(look_at(&fixture, PID)->live.bytes, 10);
	assert_int_equal(fixture.snapshot->process_count, 3);
	fixture_close(&fixture);
}

/* ---- leaving ---- */

static void test_process_leaves(void **state)
{
	struct model_fixture fixture =
		fixture_open((struct model_config){.apis = API_SET_ALL, .scans = true});
	const struct snapshot_process *section;

	(void)state;
	send_malloc(&fixture, A, 10);
	send_event(&fixture, (struct event){.kind = EVENT_LEAVE});
	send_malloc(&fixture, B, 10);
	send_event(&fixture, (struct event){.kind = EVENT_LEAVE});
	section = look(&fixture);
	assert_true(section->left);
	assert_false(section->exited);
	assert_false(section->replaced);
	assert_int_equal(section->live.bytes, 10);
	assert_non_null(strstr(section->scan.reason, "no longer traced"));
	assert_int_equal(fixture.snapshot->dropped, 2);
	fixture_close(&fixture);
}

static void test_vfork_child_leaves(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_fork(&fixture, CHILD, START_TIME, true);
	fixture_switch_to(&fixture, CHILD);
	send_event(&fixture, (struct event){.kind = EVENT_LEAVE});
	send_malloc(&fixture, B, 10);
	fixture_switch_to(&fixture, PID);
	send_malloc(&fixture, B, 10);
	assert_false(look_at(&fixture, PID)->left);
	assert_int_equal(fixture.snapshot->dropped, 1);
	assert_int_equal(fixture.snapshot->process_count, 1);
	fixture_close(&fixture);
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
