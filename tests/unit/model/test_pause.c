/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A paused model does not count allocations, and a reset model starts again. */
#include "tests/unit/books.h"

#include <errno.h>

#include "model/book/scan.h"
#include "model/process/process.h"

#define HEAP   0x1000000ULL
#define REGION 0x9000000ULL
#define CHILD  200

static void pause_books(struct books *books, bool paused)
{
	assert_int_equal(model_pause(books->model, books->pid, paused), 0);
}

static void reset_books(struct books *books)
{
	assert_int_equal(model_reset(books->model, books->pid, books->now_ns), 0);
}

static void assert_live(struct books *books, uint64_t blocks, uint64_t bytes)
{
	const struct snapshot_process *section = look(books);

	assert_int_equal(section->live.blocks, blocks);
	assert_int_equal(section->live.bytes, bytes);
	assert_int_equal(section->losses.unmatched_frees, 0);
	assert_int_equal(section->losses.collisions, 0);
}

static void test_paused(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, HEAP, 10);
	pause_books(&books, true);
	tell_malloc(&books, HEAP + 100, 20);
	assert_live(&books, 1, 10);
	assert_true(look(&books)->paused);
	assert_int_equal(look(&books)->unbooked, 1);
	tell_free(&books, HEAP);
	assert_live(&books, 0, 0);
	assert_int_equal(look(&books)->totals.frees, 1);
	pause_books(&books, false);
	tell_free(&books, HEAP + 100);
	tell_malloc(&books, HEAP + 100, 30);
	assert_live(&books, 1, 30);
	assert_int_equal(look(&books)->totals.allocations, 2);
	assert_int_equal(look(&books)->unbooked, 1);
	books_close(&books);
}

/* A counted block is gone after realloc moves it, and the new block is not counted. */
static void test_paused_realloc(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, HEAP, 10);
	tell_malloc(&books, HEAP + 100, 10);
	tell_begin(&books, API_REALLOC, ARGUMENTS(HEAP, 20));
	pause_books(&books, true);
	tell_end(&books, API_REALLOC, HEAP + 200, 20);
	assert_live(&books, 1, 10);
	tell_begin(&books, API_REALLOC, ARGUMENTS(HEAP + 100, 50));
	pause_books(&books, false);
	tell_end(&books, API_REALLOC, HEAP + 300, 50);
	assert_live(&books, 1, 50);
	tell_free(&books, HEAP + 200);
	tell_free(&books, HEAP + 300);
	assert_live(&books, 0, 0);
	books_close(&books);
}

static void tell_mmap(struct books *books, uint64_t address, uint64_t size)
{
	tell_begin(books, API_MMAP, ARGUMENTS(0, size, 3, 0x22));
	tell_end(books, API_MMAP, address, size);
}

static void test_paused_regions(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_mmap(&books, REGION, 4096);
	pause_books(&books, true);
	tell_mmap(&books, REGION + 8192, 4096);
	assert_int_equal(look(&books)->mappings.maps, 1);
	assert_int_equal(look(&books)->unbooked, 1);
	tell_begin(&books, API_MUNMAP, ARGUMENTS(REGION, 12288));
	tell_end(&books, API_MUNMAP, 0, 0);
	assert_int_equal(look(&books)->mappings.maps, 0);
	assert_int_equal(look(&books)->internal.munmaps, 0);
	books_close(&books);
}

static void test_pause_is_inherited(void **state)
{
	struct books books = books_default();

	(void)state;
	pause_books(&books, true);
	tell_fork(&books, CHILD, START_TIME + 1, false);
	assert_true(look_at(&books, CHILD)->paused);
	books_turn(&books, CHILD);
	tell_process(&books, EVENT_EXEC, START_TIME + 1);
	assert_true(look_at(&books, CHILD)->paused);
	pause_books(&books, false);
	assert_false(look_at(&books, CHILD)->paused);
	assert_true(look_at(&books, PID)->paused);
	books_close(&books);
}

static void test_pause_all(void **state)
{
	struct books books = books_default();

	(void)state;
	assert_int_equal(model_pause(books.model, 4711, true), -ESRCH);
	assert_int_equal(model_reset(books.model, 4711, 0), -ESRCH);
	model_pause_all(books.model, true);
	books_turn(&books, CHILD);
	tell_process(&books, EVENT_PROCESS, START_TIME);
	assert_true(look_at(&books, PID)->paused);
	assert_true(look_at(&books, CHILD)->paused);
	model_pause_all(books.model, false);
	assert_false(look_at(&books, PID)->paused);
	assert_false(look_at(&books, CHILD)->paused);
	books_close(&books);
}

static void test_reset(void **state)
{
	struct books books = books_default();
	const struct snapshot_process *section;

	(void)state;
	tell_malloc(&books, HEAP, 10);
	tell_malloc(&books, HEAP + 100, 10);
	tell_mmap(&books, REGION, 4096);
	tell_begin(&books, API_REALLOC, ARGUMENTS(HEAP + 100, 20));
	reset_books(&books);
	section = look(&books);
	assert_int_equal(section->site_count, 0);
	assert_int_equal(section->totals.allocations, 0);
	assert_int_equal(section->totals.peak_live_bytes, 0);
	assert_int_equal(section->mappings.maps, 0);
	assert_int_equal(section->traced_since_ns, books.now_ns);
	tell_end(&books, API_REALLOC, HEAP + 200, 20);
	tell_free(&books, HEAP);
	assert_live(&books, 1, 20);
	assert_int_equal(look(&books)->totals.frees, 0);
	assert_int_equal(look(&books)->sites[0].id, 0);
	tell_begin(&books, API_MUNMAP, ARGUMENTS(REGION, 4096));
	tell_end(&books, API_MUNMAP, 0, 0);
	assert_int_equal(look(&books)->internal.munmaps, 0);
	books_close(&books);
}

/* Resetting a parent does not change its child, which shares parts of its model. */
static void test_reset_of_a_parent(void **state)
{
	struct books books = books_default();

	(void)state;
	tell_malloc(&books, HEAP, 10);
	tell_fork(&books, CHILD, START_TIME + 1, false);
	reset_books(&books);
	assert_int_equal(look_at(&books, PID)->live.blocks, 0);
	assert_int_equal(look_at(&books, CHILD)->inherited.blocks, 1);
	tell_malloc(&books, HEAP + 100, 7);
	assert_int_equal(look_at(&books, PID)->live.bytes, 7);
	books_turn(&books, CHILD);
	tell_free(&books, HEAP);
	assert_int_equal(look_at(&books, CHILD)->live.blocks, 0);
	assert_int_equal(look_at(&books, PID)->live.bytes, 7);
	books_close(&books);
}

static int count_block(void *ctx, uint64_t address, uint64_t size)
{
	(void)address;
	(void)size;
	++*(int *)ctx;
	return 0;
}

/* A scan also includes blocks without a site, because pointers lead through them. */
static void test_scan_includes_uncounted_blocks(void **state)
{
	struct books books = books_default();
	struct scan_book book = {0};
	struct process *process;
	int blocks = 0;

	(void)state;
	tell_malloc(&books, HEAP, 10);
	reset_books(&books);
	pause_books(&books, true);
	tell_malloc(&books, HEAP + 100, 10);
	process = model_process(books.model, books.pid);
	assert_int_equal(scan_book_blocks(process, count_block, &blocks), 0);
	assert_int_equal(blocks, 2);
	assert_int_equal(scan_book_open(&book, process), 0);
	scan_book_add(&book, HEAP, LEAK_DEFINITE);
	scan_book_add(&book, HEAP + 100, LEAK_DEFINITE);
	scan_book_commit(&book, process);
	assert_true(look(&books)->scan.done);
	assert_int_equal(look(&books)->scan.classes[LEAK_DEFINITE].blocks, 0);
	reset_books(&books);
	assert_false(look(&books)->scan.done);
	books_close(&books);
}

/* With --sanity, freeing a block from before the reset is not an error, but freeing it twice is. */
static void test_sanity(void **state)
{
	struct books books = books_open((struct model_config){.apis = API_SET_ALL, .sanity = true});

	(void)state;
	tell_malloc(&books, HEAP, 10);
	reset_books(&books);
	tell_free(&books, HEAP);
	assert_int_equal(look(&books)->sanity.errors, 0);
	tell_free(&books, HEAP);
	assert_int_equal(look(&books)->sanity.errors, 1);
	reset_books(&books);
	assert_int_equal(look(&books)->sanity.errors, 0);
	books_close(&books);
}

/* Sites have the same ID in every look, even if others are not in use yet. */
static void test_site_ids_are_stable(void **state)
{
	struct books books = books_default();
	static const uint64_t frames[] = {PROGRAM + 0x20, PROGRAM + 0x30};
	uint32_t id;

	(void)state;
	tell_malloc(&books, HEAP, 10);
	tell_free(&books, HEAP);
	tell_stack(&books, 7, frames, 2, 0);
	books.stack = 7;
	tell_malloc(&books, HEAP + 100, 10);
	tell_fork(&books, CHILD, START_TIME + 1, false);
	books_turn(&books, CHILD);
	assert_int_equal(look_at(&books, CHILD)->site_count, 1);
	id = look_at(&books, CHILD)->sites[0].id;
	books.stack = 0;
	tell_malloc(&books, HEAP, 10);
	assert_int_equal(look_at(&books, CHILD)->site_count, 2);
	assert_int_equal(look_at(&books, CHILD)->sites[1].id, id);
	assert_int_equal(look_at(&books, CHILD)->sites[1].live_bytes, 10);
	books_close(&books);
}

#define SLOTS 64

/* Correct behaviour of the program is never reported as an error. */
static void test_random_pauses_and_resets(void **state)
{
	struct books books = books_default();
	bool live[SLOTS] = {false}, paused = false;

	(void)state;
	srandom(7);
	for (int i = 0; i < 20000; i++) {
		uint64_t slot = (uint64_t)random() % SLOTS;
		long dice = random() % 100;

		if (dice == 0)
			reset_books(&books);
		if (dice == 1)
			pause_books(&books, paused = !paused);
		if (live[slot])
			tell_free(&books, HEAP + slot * 64);
		else
			tell_malloc(&books, HEAP + slot * 64, slot);
		live[slot] = !live[slot];
		if (dice < 4)
			assert_int_equal(look(&books)->losses.unmatched_frees, 0);
	}
	assert_int_equal(look(&books)->losses.collisions, 0);
	books_close(&books);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_paused_realloc),
		cmocka_unit_test(test_paused_regions),
		cmocka_unit_test(test_pause_is_inherited),
		cmocka_unit_test(test_pause_all),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_reset_of_a_parent),
		cmocka_unit_test(test_scan_includes_uncounted_blocks),
		cmocka_unit_test(test_sanity),
		cmocka_unit_test(test_site_ids_are_stable),
		cmocka_unit_test(test_random_pauses_and_resets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
