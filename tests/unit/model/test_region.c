/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set of pieces, and how calls of the mmap family are counted. */
#include "model/block/region.h"

#include "tests/unit/model_fixture.h"

#define PAGE             4096ULL
#define BASE             0x10000000ULL
#define FIXED            0x10
#define FIXED_NOREPLACE  0x100000
#define MREMAP_MAYMOVE   1
#define MREMAP_FIXED     2
#define MREMAP_DONTUNMAP 4

static uint64_t page(uint64_t number)
{
	return BASE + number * PAGE;
}

static void send_mmap(struct model_fixture *fixture, uint64_t first, uint64_t pages)
{
	send_begin(fixture, API_MMAP, ARGUMENTS(0, pages * PAGE, 0x22));
	send_end(fixture, API_MMAP, page(first), pages * PAGE);
}

static void send_munmap(struct model_fixture *fixture, uint64_t first, uint64_t pages)
{
	send_begin(fixture, API_MUNMAP, ARGUMENTS(page(first), pages * PAGE));
	send_end(fixture, API_MUNMAP, 0, pages * PAGE);
}

static void check_maps(struct model_fixture *fixture, uint64_t maps, uint64_t pages)
{
	const struct snapshot_process *section = look(fixture);

	assert_int_equal(section->mappings.maps, maps);
	assert_int_equal(section->mappings.bytes, pages * PAGE);
	assert_int_equal(section->live.blocks, 0);
	assert_int_equal(section->totals.allocations, 0);
}

static void test_mmap_munmap(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_site *site;

	(void)state;
	send_begin(&fixture, API_MMAP, ARGUMENTS(0, 5000, 0x22));
	check_maps(&fixture, 0, 0);
	send_end(&fixture, API_MMAP, page(0), 5000);
	check_maps(&fixture, 1, 2);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(page(0), 4097));
	check_maps(&fixture, 1, 2);
	send_end(&fixture, API_MUNMAP, 0, 4097);
	check_maps(&fixture, 0, 0);
	site = site_of(look(&fixture), API_MMAP);
	assert_int_equal(site->allocations, 1);
	assert_int_equal(site->frees, 1);
	assert_int_equal(site->bytes_allocated, 2 * PAGE);
	assert_int_equal(site->peak_live_bytes, 2 * PAGE);
	assert_int_equal(look(&fixture)->internal.munmaps, 0);
	fixture_close(&fixture);
}

static void test_mmap_fails(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_begin(&fixture, API_MMAP, ARGUMENTS(0, PAGE, 0x22));
	send_failed(&fixture, API_MMAP, PAGE);
	send_begin(&fixture, API_MMAP, ARGUMENTS(0, 0, 0x22));
	send_failed(&fixture, API_MMAP, 0);
	check_maps(&fixture, 0, 0);
	assert_int_equal(site_of(look(&fixture), API_MMAP)->failed_allocations, 1);
	assert_int_equal(look(&fixture)->totals.failed_allocations, 0);
	fixture_close(&fixture);
}

/* A mapping counts as freed when its last byte is unmapped. */
static void test_munmap_in_parts(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mmap(&fixture, 0, 10);
	send_munmap(&fixture, 3, 2);
	check_maps(&fixture, 1, 8);
	send_munmap(&fixture, 0, 3);
	check_maps(&fixture, 1, 5);
	assert_int_equal(site_of(look(&fixture), API_MMAP)->frees, 0);
	send_munmap(&fixture, 0, 100);
	check_maps(&fixture, 0, 0);
	assert_int_equal(site_of(look(&fixture), API_MMAP)->frees, 1);
	fixture_close(&fixture);
}

static void test_munmap_of_several(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mmap(&fixture, 0, 2);
	send_mmap(&fixture, 4, 2);
	send_mmap(&fixture, 8, 2);
	send_munmap(&fixture, 1, 8);
	check_maps(&fixture, 2, 2);
	assert_int_equal(site_of(look(&fixture), API_MMAP)->frees, 1);
	fixture_close(&fixture);
}

static void test_munmap_of_unknown_is_internal(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_munmap(&fixture, 0, 1);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(1, PAGE));
	send_failed(&fixture, API_MUNMAP, PAGE);
	assert_int_equal(look(&fixture)->internal.munmaps, 1);
	assert_int_equal(look(&fixture)->losses.unmatched_frees, 0);
	fixture_close(&fixture);
}

static void test_munmap_fails(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mmap(&fixture, 0, 4);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(page(1), PAGE));
	send_failed(&fixture, API_MUNMAP, PAGE);
	check_maps(&fixture, 1, 4);
	send_munmap(&fixture, 0, 4);
	check_maps(&fixture, 0, 0);
	fixture_close(&fixture);
}

/* Another thread maps the range before munmap returns. */
static void test_munmap_races_with_mmap(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mmap(&fixture, 0, 4);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(page(0), 4 * PAGE));
	fixture.tid++;
	send_mmap(&fixture, 1, 2);
	check_maps(&fixture, 2, 6);
	fixture.tid--;
	send_end(&fixture, API_MUNMAP, 0, 4 * PAGE);
	check_maps(&fixture, 1, 2);
	assert_int_equal(site_of(look(&fixture), API_MMAP)->frees, 1);
	fixture_close(&fixture);
}

/* A failed munmap restores the range, except where something else was mapped. */
static void test_munmap_fails_after_race(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mmap(&fixture, 0, 4);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(page(0), 4 * PAGE));
	fixture.tid++;
	send_mmap(&fixture, 1, 1);
	fixture.tid--;
	send_failed(&fixture, API_MUNMAP, 4 * PAGE);
	check_maps(&fixture, 2, 4);
	send_munmap(&fixture, 1, 1);
	check_maps(&fixture, 1, 3);
	fixture_close(&fixture);
}

static void test_fixed_replaces(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mmap(&fixture, 0, 6);
	send_begin(&fixture, API_MMAP, ARGUMENTS(page(2), 2 * PAGE, FIXED));
	check_maps(&fixture, 1, 6);
	send_end(&fixture, API_MMAP, page(2), 2 * PAGE);
	check_maps(&fixture, 2, 6);
	send_begin(&fixture, API_MMAP, ARGUMENTS(page(0), 6 * PAGE, FIXED));
	send_failed(&fixture, API_MMAP, 6 * PAGE);
	check_maps(&fixture, 2, 6);
	send_begin(&fixture, API_MMAP, ARGUMENTS(page(0), 6 * PAGE, FIXED));
	send_end(&fixture, API_MMAP, page(0), 6 * PAGE);
	check_maps(&fixture, 1, 6);
	assert_int_equal(site_of(look(&fixture), API_MMAP)->frees, 2);
	fixture_close(&fixture);
}

static void test_fixed_noreplace_cuts_nothing(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mmap(&fixture, 0, 2);
	send_begin(&fixture, API_MMAP, ARGUMENTS(page(0), PAGE, FIXED | FIXED_NOREPLACE));
	fixture.tid++;
	send_munmap(&fixture, 0, 2); /* finds all of it */
	fixture.tid--;
	send_failed(&fixture, API_MMAP, PAGE);
	check_maps(&fixture, 0, 0);
	assert_int_equal(look(&fixture)->internal.munmaps, 0);
	fixture_close(&fixture);
}

struct mremap_case {
	const char *what;
	uint64_t old, old_pages, new_pages, flags, to, result; /* pages; result -1: fails */
	uint64_t maps, live, mmap_frees, internal;
};

#define FAILS UINT64_MAX

/* Before each: a region of 4 pages at page 10, and one of 2 pages at page 40. */
static const struct mremap_case mremap_cases[] = {
	{"grows in place", 10, 4, 8, MREMAP_MAYMOVE, 0, 10, 2, 10, 1, 0},
	{"moves", 10, 4, 8, MREMAP_MAYMOVE, 0, 20, 2, 10, 1, 0},
	{"shrinks", 10, 4, 1, 0, 0, 10, 2, 3, 1, 0},
	{"moves a part", 11, 2, 2, MREMAP_MAYMOVE, 0, 20, 3, 6, 0, 0},
	{"fails", 10, 4, 8, 0, 0, FAILS, 2, 6, 0, 0},
	{"duplicates", 10, 0, 4, MREMAP_MAYMOVE, 0, 20, 3, 10, 0, 0},
	{"leaves the old", 10, 4, 4, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0, 20, 3, 10, 0, 0},
	{"replaces", 10, 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED, 40, 40, 1, 4, 2, 0},
	{"fails to replace", 10, 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED, 40, FAILS, 2, 6, 0, 0},
	{"moves the unknown", 60, 1, 2, MREMAP_MAYMOVE, 0, 20, 3, 8, 0, 1},
	{"fails on the unknown", 60, 1, 2, MREMAP_MAYMOVE, 0, FAILS, 2, 6, 0, 0},
};

static void check_mremap(const struct mremap_case *row)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	print_message("  mremap %s\n", row->what);
	send_mmap(&fixture, 10, 4);
	send_mmap(&fixture, 40, 2);
	send_begin(&fixture, API_MREMAP,
		   ARGUMENTS(page(row->old), row->old_pages * PAGE, row->new_pages * PAGE,
			     row->flags, page(row->to)));
	check_maps(&fixture, 2, 6);
	if (row->result == FAILS)
		send_failed(&fixture, API_MREMAP, row->new_pages * PAGE);
	else
		send_end(&fixture, API_MREMAP, page(row->result), row->new_pages * PAGE);
	check_maps(&fixture, row->maps, row->live);
	section = look(&fixture);
	assert_int_equal(site_of(section, API_MMAP)->frees, row->mmap_frees);
	assert_int_equal(section->internal.munmaps, row->internal);
	assert_int_equal(site_of(section, API_MREMAP)->failed_allocations, row->result == FAILS);
	fixture_close(&fixture);
}

static void test_mremap(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(mremap_cases) / sizeof(mremap_cases[0]); i++)
		check_mremap(&mremap_cases[i]);
}

/* Thread stacks and stdio buffers are counted, but not among the program's mappings. */
static void test_mmap_by_libc(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	fixture.caller = LIBC + 0x40;
	send_mmap(&fixture, 0, 3);
	check_maps(&fixture, 0, 0);
	assert_int_equal(site_of(look(&fixture), API_MMAP_LIBC)->live_bytes, 3 * PAGE);
	send_munmap(&fixture, 0, 3);
	assert_int_equal(look(&fixture)->internal.munmaps, 0);
	assert_int_equal(site_of(look(&fixture), API_MMAP_LIBC)->frees, 1);
	fixture_close(&fixture);
}

static void test_excluded_mmap(void **state)
{
	struct model_fixture fixture =
		fixture_open((struct model_config){.apis = 1u << API_MALLOC});

	(void)state;
	send_mmap(&fixture, 0, 3);
	send_munmap(&fixture, 0, 3);
	assert_int_equal(look(&fixture)->site_count, 0);
	assert_int_equal(look(&fixture)->internal.munmaps, 0);
	fixture_close(&fixture);
}

/* Sizes are rounded to the page size of the machine. */
static void test_page_size(void **state)
{
	struct model_fixture fixture =
		fixture_open((struct model_config){.apis = API_SET_ALL, .page_size = 65536});

	(void)state;
	send_end(&fixture, API_MMAP, 0x100000, 1);
	send_end(&fixture, API_MMAP, 0x200000, 65537);
	assert_int_equal(look(&fixture)->mappings.bytes, 3 * 65536);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(0x210000, 1));
	send_end(&fixture, API_MUNMAP, 0, 1);
	assert_int_equal(look(&fixture)->mappings.bytes, 2 * 65536);
	fixture_close(&fixture);
}

static void test_ends_without_begin(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_end(&fixture, API_MMAP, page(0), PAGE);
	send_end(&fixture, API_MREMAP, page(4), PAGE);
	check_maps(&fixture, 2, 2);
	send_end(&fixture, API_MUNMAP, 0, PAGE);
	check_maps(&fixture, 2, 2);
	assert_int_equal(fixture.snapshot->dropped, 0);
	fixture_close(&fixture);
}

static void test_missed_return(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mmap(&fixture, 0, 2);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(page(0), 2 * PAGE));
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(page(1), PAGE));
	assert_int_equal(look(&fixture)->losses.missed_returns, 1);
	check_maps(&fixture, 1, 2);
	send_end(&fixture, API_MUNMAP, 0, PAGE);
	check_maps(&fixture, 1, 1);
	fixture_close(&fixture);
}

/* Ranges that no kernel accepts do no harm. */
static void test_invalid_ranges(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mmap(&fixture, 0, 2);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(0, UINT64_MAX));
	send_failed(&fixture, API_MUNMAP, UINT64_MAX);
	send_begin(&fixture, API_MUNMAP, ARGUMENTS(UINT64_MAX, UINT64_MAX));
	send_failed(&fixture, API_MUNMAP, UINT64_MAX);
	check_maps(&fixture, 1, 2);
	send_end(&fixture, API_MMAP, UINT64_MAX - 100, UINT64_MAX);
	send_end(&fixture, API_MMAP, UINT64_MAX, 1);
	send_end(&fixture, API_MMAP, 0, UINT64_MAX);
	send_end(&fixture, API_MMAP, page(9), 0);
	fixture_snapshot(&fixture);
	fixture_close(&fixture);
}

enum { RANDOM_PAGES = 512 };

struct gone_sum {
	uint64_t bytes[RANDOM_PAGES + 1]; /* by site */
};

static void note_gone(void *ctx, uint32_t site, uint64_t bytes, bool last)
{
	struct gone_sum *sum = ctx;

	(void)last;
	sum->bytes[site] += bytes;
}

/* Compares the set with an array of pages; the site of a page is the number of its region. */
static void check_pages(const struct regions *set, const uint32_t *owner)
{
	for (uint64_t i = 0; i < RANDOM_PAGES; i++) {
		const struct piece *piece = regions_at(set, i);
		bool covered = piece && piece->start <= i;

		assert_int_equal(covered, owner[i] != 0);
		if (covered)
			assert_int_equal(set->regions.items[piece->region].site, owner[i]);
	}
}

static void test_random_pages(void **state)
{
	uint32_t owner[RANDOM_PAGES] = {0}, held[RANDOM_PAGES];
	struct gone_sum gone, expected;
	struct regions set = {0};

	(void)state;
	srandom(3);
	for (uint32_t step = 0; step < 20000; step++) {
		uint64_t start = (uint64_t)random() % RANDOM_PAGES;
		uint64_t end = start + 1 + (uint64_t)random() % (RANDOM_PAGES - start);
		uint32_t site = 1 + step % RANDOM_PAGES, list = PIECE_NONE;
		bool restore = random() % 2;

		if (random() % 4) /* mostly small ones */
			end = start + 1 + (end - start) / 32;
		memset(&gone, 0, sizeof(gone));
		memset(&expected, 0, sizeof(expected));
		memcpy(held, owner, sizeof(held));
		assert_int_equal(regions_cut(&set, start, end, &list), 0);
		memset(owner + start, 0, (end - start) * sizeof(*owner));
		if (restore) { /* into a range whose middle is taken */
			uint64_t middle = start + (end - start) / 2;

			assert_int_equal(regions_add(&set, middle, middle + 1, site, 0), 0);
			memcpy(owner + start, held + start, (end - start) * sizeof(*owner));
			if (held[middle])
				expected.bytes[held[middle]]++;
			owner[middle] = site;
			assert_int_equal(regions_restore(&set, list, note_gone, &gone), 0);
		} else {
			for (uint64_t i = start; i < end; i++)
				if (held[i])
					expected.bytes[held[i]]++;
			regions_release(&set, list, note_gone, &gone);
			assert_int_equal(regions_add(&set, start, end, site, 0), 0);
			for (uint64_t i = start; i < end; i++)
				owner[i] = site;
		}
		assert_memory_equal(&gone, &expected, sizeof(gone));
		if (step % 100 == 0)
			check_pages(&set, owner);
	}
	regions_free(&set);
}

/* From high to low addresses, as the kernel assigns them. Quadratic cost would make this test
 * slow. */
static void test_many_regions(void **state)
{
	enum { COUNT = 100000 };
	struct model_fixture fixture = fixture_default();

	(void)state;
	for (uint64_t i = COUNT; i; i--)
		send_mmap(&fixture, 2 * i, 1);
	check_maps(&fixture, COUNT, COUNT);
	for (uint64_t i = COUNT; i > 1; i--)
		send_munmap(&fixture, 2 * i, 1);
	check_maps(&fixture, 1, 1);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap_munmap),
		cmocka_unit_test(test_mmap_fails),
		cmocka_unit_test(test_munmap_in_parts),
		cmocka_unit_test(test_munmap_of_several),
		cmocka_unit_test(test_munmap_of_unknown_is_internal),
		cmocka_unit_test(test_munmap_fails),
		cmocka_unit_test(test_munmap_races_with_mmap),
		cmocka_unit_test(test_munmap_fails_after_race),
		cmocka_unit_test(test_fixed_replaces),
		cmocka_unit_test(test_fixed_noreplace_cuts_nothing),
		cmocka_unit_test(test_mremap),
		cmocka_unit_test(test_mmap_by_libc),
		cmocka_unit_test(test_excluded_mmap),
		cmocka_unit_test(test_page_size),
		cmocka_unit_test(test_ends_without_begin),
		cmocka_unit_test(test_missed_return),
		cmocka_unit_test(test_invalid_ranges),
		cmocka_unit_test(test_random_pages),
		cmocka_unit_test(test_many_regions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
