/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model's interface for leak scans: blocks, stamps and results. */
#include "tests/unit/model_fixture.h"

#include <errno.h>
#include <stdio.h>

#include "model/update/scan.h"
#include "model/process/process.h"

#define HEAP   0x1000000ULL
#define REGION 0x9000000ULL
#define PAGE   4096ULL

/* The blocks that a walk visits, by address. */
struct walk {
	struct {
		uint64_t address, size;
	} blocks[16];
	size_t count;
	size_t stop_at; /* fails at this block; 0: never */
};

static int note(void *ctx, uint64_t address, uint64_t size)
{
	struct walk *walk = ctx;
	size_t at = walk->count;

	if (walk->stop_at && walk->count + 1 == walk->stop_at)
		return -ENOMEM;
	for (; at && walk->blocks[at - 1].address > address; at--)
		walk->blocks[at] = walk->blocks[at - 1];
	walk->blocks[at].address = address;
	walk->blocks[at].size = size;
	walk->count++;
	return 0;
}

static struct walk walk_of(const struct model_fixture *fixture)
{
	const struct process *process = model_process(fixture->model, fixture->pid);
	struct walk walk = {0};

	assert_int_equal(scan_update_blocks(process, note, &walk), 0);
	assert_true(walk.count <= scan_update_count(process));
	return walk;
}

static struct process *process_of(const struct model_fixture *fixture)
{
	struct process *process = model_process(fixture->model, fixture->pid);

	assert_non_null(process);
	return process;
}

static void send_mmap(struct model_fixture *fixture, uint64_t address, uint64_t size)
{
	send_begin(fixture, API_MMAP, ARGUMENTS(0, size, 3, 0x22));
	send_end(fixture, API_MMAP, address, size);
}

static void send_munmap(struct model_fixture *fixture, uint64_t address, uint64_t size)
{
	send_begin(fixture, API_MUNMAP, ARGUMENTS(address, size));
	send_end(fixture, API_MUNMAP, 0, 0);
}

static void test_blocks_are_live_blocks(void **state)
{
	struct model_fixture fixture = fixture_default();
	struct walk walk;

	(void)state;
	send_malloc(&fixture, HEAP, 16);
	send_malloc(&fixture, HEAP + 32, 0);
	send_malloc(&fixture, HEAP + 64, 100);
	send_free(&fixture, HEAP);
	walk = walk_of(&fixture);
	assert_int_equal(walk.count, 2);
	assert_int_equal(walk.blocks[0].address, HEAP + 32);
	assert_int_equal(walk.blocks[1].size, 100);
	fixture_close(&fixture);
}

static void test_region_of_the_program_is_a_block(void **state)
{
	struct model_fixture fixture = fixture_default();
	struct walk walk;

	(void)state;
	send_mmap(&fixture, REGION, 3 * PAGE);
	fixture.caller = LIBC + 0x10; /* a thread's stack */
	send_mmap(&fixture, REGION + 16 * PAGE, PAGE);
	walk = walk_of(&fixture);
	assert_int_equal(walk.count, 1);
	assert_int_equal(walk.blocks[0].address, REGION);
	assert_int_equal(walk.blocks[0].size, 3 * PAGE);
	fixture_close(&fixture);
}

/* A region that is cut at an end still counts as a block; one with a hole does not. */
static void test_region_with_a_hole_is_no_block(void **state)
{
	struct model_fixture fixture = fixture_default();
	struct walk walk;

	(void)state;
	send_mmap(&fixture, REGION, 4 * PAGE);
	send_munmap(&fixture, REGION, PAGE);
	walk = walk_of(&fixture);
	assert_int_equal(walk.count, 1);
	assert_int_equal(walk.blocks[0].address, REGION + PAGE);
	send_munmap(&fixture, REGION + 2 * PAGE, PAGE);
	assert_int_equal(walk_of(&fixture).count, 0);
	fixture_close(&fixture);
}

static void test_region_of_an_allocator_is_no_block(void **state)
{
	struct model_fixture fixture = fixture_default();
	struct walk walk;

	(void)state;
	send_mmap(&fixture, REGION, 4 * PAGE);
	send_mmap(&fixture, REGION + 16 * PAGE, PAGE);
	send_malloc(&fixture, REGION + 3 * PAGE, 16);
	walk = walk_of(&fixture);
	assert_int_equal(walk.count, 2);
	assert_int_equal(walk.blocks[0].address, REGION + 3 * PAGE);
	assert_int_equal(walk.blocks[1].address, REGION + 16 * PAGE);
	fixture_close(&fixture);
}

static void test_walk_stops_at_its_first_error(void **state)
{
	struct model_fixture fixture = fixture_default();
	struct walk walk = {.stop_at = 2};

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		send_malloc(&fixture, HEAP + i * 64, 16);
	send_mmap(&fixture, REGION, PAGE);
	assert_int_equal(scan_update_blocks(process_of(&fixture), note, &walk), -ENOMEM);
	assert_int_equal(walk.count, 1);
	fixture_close(&fixture);
}

static void test_stamps_distinguish_blocks_from_their_successors(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct process *process = process_of(&fixture);
	uint64_t stamp;

	(void)state;
	send_malloc(&fixture, HEAP, 16);
	stamp = scan_update_stamp(process, HEAP, UINT64_MAX);
	assert_true(stamp);
	assert_int_equal(scan_update_stamp(process, HEAP, UINT64_MAX), stamp);
	assert_int_equal(scan_update_stamp(process, HEAP + 1, UINT64_MAX), 0);
	send_free(&fixture, HEAP);
	assert_int_equal(scan_update_stamp(process, HEAP, UINT64_MAX), 0);
	send_malloc(&fixture, HEAP, 16);
	assert_int_not_equal(scan_update_stamp(process, HEAP, UINT64_MAX), stamp);
	send_mmap(&fixture, REGION, PAGE);
	assert_true(scan_update_stamp(process, REGION, UINT64_MAX));
	fixture_close(&fixture);
}

static void test_young_blocks_have_no_stamp(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct process *process = process_of(&fixture);

	(void)state;
	send_malloc(&fixture, HEAP, 16);
	assert_int_equal(scan_update_stamp(process, HEAP, fixture.now_ns), 0);
	assert_int_equal(scan_update_stamp(process, HEAP, fixture.now_ns + 10 * MS), 0);
	assert_true(scan_update_stamp(process, HEAP, fixture.now_ns + 100 * MS));
	fixture_close(&fixture);
}

static struct model_fixture fixture_launched(void)
{
	static const char *const command[] = {"target", NULL};
	struct model_fixture fixture = {.pid = PID, .tid = PID, .caller = PROGRAM + 0x10};
	const struct model_config config = {.apis = API_SET_ALL, .wrappers = true, .scans = true};

	assert_int_equal(model_new(&fixture.model, &config), 0);
	send_event(&fixture, (struct event){.kind = EVENT_PROCESS,
					    .process = {.start_time_ns = START_TIME,
							.from_start = true,
							.comm = "target",
							.command = command}});
	send_objects(&fixture);
	return fixture;
}

static void test_complete_means_from_the_start_without_losses(void **state)
{
	struct model_fixture attached = fixture_default(), fixture = fixture_launched();

	(void)state;
	assert_false(scan_update_is_complete(process_of(&attached)));
	assert_true(scan_update_is_complete(process_of(&fixture)));
	send_malloc(&fixture, HEAP, 16);
	send_begin(&fixture, API_REALLOC, ARGUMENTS(HEAP, 32));
	assert_false(scan_update_is_complete(process_of(&fixture)));
	send_end(&fixture, API_REALLOC, HEAP, 32);
	assert_true(scan_update_is_complete(process_of(&fixture)));
	send_losses(&fixture, &(struct snapshot_losses){.events = 1});
	assert_false(scan_update_is_complete(process_of(&fixture)));
	send_losses(&fixture, &(struct snapshot_losses){0});
	send_free(&fixture, HEAP + 8);
	assert_false(scan_update_is_complete(process_of(&fixture)));
	fixture_close(&fixture);
	fixture_close(&attached);
}

static void test_the_only_allocator(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	assert_int_equal(scan_update_allocator(process_of(&fixture)), MODULE_LIBC);
	send_mapping(&fixture, LIBC + OBJECT_SIZE, OBJECT_SIZE, 0, MODULE_LIBC,
		     MAPPING_FLAG_ALLOCATOR);
	assert_int_equal(scan_update_allocator(process_of(&fixture)), MODULE_LIBC);
	send_mapping(&fixture, PROGRAM, OBJECT_SIZE, 0, MODULE_PROGRAM, MAPPING_FLAG_ALLOCATOR);
	assert_int_equal(scan_update_allocator(process_of(&fixture)), MODULE_NONE);
	fixture_close(&fixture);
}

static void book_all(struct model_fixture *fixture, enum leak_class leak)
{
	struct process *process = process_of(fixture);
	struct scan_update book;

	assert_int_equal(scan_update_open(&book, process), 0);
	book.scan.taken_ns = fixture->now_ns;
	for (uint64_t i = 0; i < 4; i++)
		scan_update_add(&book, HEAP + i * 0x100, leak);
	scan_update_add(&book, REGION, leak);
	scan_update_commit(&book, process);
	scan_update_free(&book);
}

static void test_result_is_summed_by_site_and_kept(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;
	const struct snapshot_leaks *leaks;
	uint64_t oldest_ns, youngest_ns;

	(void)state;
	send_malloc(&fixture, HEAP, 16);
	oldest_ns = fixture.now_ns;
	send_malloc(&fixture, HEAP + 0x100, 200);
	send_malloc(&fixture, HEAP + 0x200, 100);
	youngest_ns = fixture.now_ns;
	send_mmap(&fixture, REGION, PAGE);
	assert_false(look(&fixture)->scan.done);
	book_all(&fixture, LEAK_DEFINITE);
	send_malloc(&fixture, HEAP + 0x300, 16); /* after the scan: belongs to no class */
	section = look(&fixture);
	assert_true(section->scan.done);
	assert_null(section->scan.reason);
	assert_int_equal(section->scan.classes[LEAK_DEFINITE].blocks, 4);
	assert_int_equal(section->scan.classes[LEAK_DEFINITE].bytes, 316 + PAGE);
	leaks = &site_of(section, API_MALLOC)->leaks;
	assert_int_equal(leaks->classes[LEAK_DEFINITE].blocks, 3);
	assert_int_equal(leaks->classes[LEAK_DEFINITE].bytes, 316);
	assert_int_equal(leaks->examples[LEAK_DEFINITE].address, HEAP + 0x100);
	assert_int_equal(leaks->examples[LEAK_DEFINITE].size, 200);
	assert_int_equal(leaks->oldest_ns, oldest_ns);
	assert_int_equal(leaks->youngest_ns, youngest_ns);
	assert_int_equal(site_of(section, API_MMAP)->leaks.classes[LEAK_DEFINITE].blocks, 1);
	fixture_close(&fixture);
}

static void test_next_scan_replaces_the_last(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	(void)state;
	send_malloc(&fixture, HEAP, 16);
	book_all(&fixture, LEAK_DEFINITE);
	book_all(&fixture, LEAK_REACHABLE);
	section = look(&fixture);
	assert_int_equal(section->scan.classes[LEAK_DEFINITE].blocks, 0);
	assert_int_equal(section->scan.classes[LEAK_REACHABLE].blocks, 1);
	assert_int_equal(site_of(section, API_MALLOC)->leaks.examples[LEAK_DEFINITE].address, 0);
	/* A scan that fails does not replace it. */
	assert_int_equal(scan_update_fail(process_of(&fixture), "no luck"), 0);
	section = look(&fixture);
	assert_true(section->scan.done);
	assert_null(section->scan.reason);
	fixture_close(&fixture);
}

static void test_result_is_kept_after_exit(void **state)
{
	struct model_fixture fixture = fixture_launched();

	(void)state;
	send_malloc(&fixture, HEAP, 16);
	book_all(&fixture, LEAK_DEFINITE);
	send_exit(&fixture);
	assert_null(model_process(fixture.model, PID));
	assert_int_equal(site_of(look(&fixture), API_MALLOC)->leaks.classes[LEAK_DEFINITE].bytes,
			 16);
	fixture_close(&fixture);
}

static const char *reason_after(struct event event)
{
	static char reason[256];
	struct model_fixture fixture = fixture_launched();

	send_malloc(&fixture, HEAP, 16);
	send_event(&fixture, event);
	fixture_snapshot(&fixture);
	snprintf(reason, sizeof(reason), "%s", fixture.snapshot->processes[0].scan.reason);
	fixture_close(&fixture);
	return reason;
}

static void test_missing_scan_has_a_reason(void **state)
{
	struct model_fixture fixture = fixture_launched();

	(void)state;
	assert_non_null(strstr(reason_after((struct event){.kind = EVENT_EXIT}), "exited before"));
	assert_non_null(strstr(
		reason_after((struct event){.kind = EVENT_EXIT, .exit = {.code = 9}}), "SIGKILL"));
	assert_non_null(strstr(
		reason_after((struct event){.kind = EVENT_EXEC, .process = {.start_time_ns = 78}}),
		"exec"));
	assert_int_equal(scan_update_fail(process_of(&fixture), "gdb has it"), 0);
	send_exit(&fixture);
	assert_string_equal(look(&fixture)->scan.reason, "gdb has it");
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_are_live_blocks),
		cmocka_unit_test(test_region_of_the_program_is_a_block),
		cmocka_unit_test(test_region_with_a_hole_is_no_block),
		cmocka_unit_test(test_region_of_an_allocator_is_no_block),
		cmocka_unit_test(test_walk_stops_at_its_first_error),
		cmocka_unit_test(test_stamps_distinguish_blocks_from_their_successors),
		cmocka_unit_test(test_young_blocks_have_no_stamp),
		cmocka_unit_test(test_complete_means_from_the_start_without_losses),
		cmocka_unit_test(test_the_only_allocator),
		cmocka_unit_test(test_result_is_summed_by_site_and_kept),
		cmocka_unit_test(test_next_scan_replaces_the_last),
		cmocka_unit_test(test_result_is_kept_after_exit),
		cmocka_unit_test(test_missing_scan_has_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
