/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ld.so.cache: files as written by ldconfig, and invalid files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "os/library/ldcache.h"
#include "tests/unit/scratch.h"

/* The cache file as glibc's ldconfig writes it, with two files for one soname. */
struct cache_file {
	char magic[20];
	uint32_t count;
	uint32_t string_size;
	uint8_t flags, padding[3];
	uint32_t extension, unused[3];
	struct {
		int32_t flags;
		uint32_t key, value, os_version;
		uint64_t hwcap;
	} entries[3];
	char strings[64];
};

#define CACHE_STRING(at) (uint32_t)(offsetof(struct cache_file, strings) + (at))

static struct cache_file cache_file_make(void)
{
	struct cache_file file = {
		.count = 3,
		.string_size = 64,
		.entries = {{.flags = 0x303, .key = CACHE_STRING(0), .value = CACHE_STRING(8)},
			    {.flags = 3, .key = CACHE_STRING(16), .value = CACHE_STRING(24)},
			    {.flags = 3, .key = CACHE_STRING(0), .value = CACHE_STRING(32)}},
	};

	memcpy(file.magic, "glibc-ld.so.cache1.1", 20);
	strcpy(file.strings, "libx.so");
	strcpy(file.strings + 8, "/64/x");
	strcpy(file.strings + 16, "liby.so");
	strcpy(file.strings + 24, "/32/y");
	strcpy(file.strings + 32, "/32/x");
	return file;
}

static void check_cache(struct scratch *scratch)
{
	struct ldcache cache;
	uint32_t position = 0;

	assert_int_equal(ldcache_open(scratch_path(scratch, "cache"), &cache), 0);
	assert_string_equal(ldcache_next(&cache, "libx.so", &position), "/64/x");
	assert_string_equal(ldcache_next(&cache, "libx.so", &position), "/32/x");
	assert_null(ldcache_next(&cache, "libx.so", &position));
	assert_null(ldcache_next(&cache, "libx.so", &position));
	position = 0;
	assert_null(ldcache_next(&cache, "libz.so", &position));
	ldcache_close(&cache);
}

static void test_cache(void **state)
{
	struct cache_file file = cache_file_make();
	int little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

	scratch_write(*state, "cache", &file, sizeof(file), 0644);
	check_cache(*state);
	file.flags = little ? 2 : 3;
	scratch_write(*state, "cache", &file, sizeof(file), 0644);
	check_cache(*state);
}

/* Preceded by the old format: 16 bytes, 12 for each entry, and padding. */
static void test_cache_behind_old_format(void **state)
{
	struct cache_file file = cache_file_make();

	for (uint32_t count = 0; count < 4; count++) {
		unsigned char bytes[128 + sizeof(file)] = "ld.so-1.7.0";
		size_t at = (16 + count * 12 + 7) & ~(size_t)7;

		memcpy(bytes + 12, &count, sizeof(count));
		memcpy(bytes + at, &file, sizeof(file));
		scratch_write(*state, "cache", bytes, at + sizeof(file), 0644);
		check_cache(*state);
	}
}

static void check_no_cache(struct scratch *scratch, const void *bytes, size_t size)
{
	struct ldcache cache;

	scratch_write(scratch, "cache", bytes, size, 0644);
	assert_int_equal(ldcache_open(scratch_path(scratch, "cache"), &cache), -EINVAL);
}

static void test_invalid_caches(void **state)
{
	struct cache_file file = cache_file_make();
	unsigned char old[16] = "ld.so-1.7.0";
	struct ldcache cache;

	assert_int_equal(ldcache_open("/no/such/file", &cache), -ENOENT);
	check_no_cache(*state, "", 0);
	check_no_cache(*state, old, sizeof(old));
	memset(old + 12, 0xff, 4);
	check_no_cache(*state, old, sizeof(old));
	for (size_t size = 0; size < offsetof(struct cache_file, strings); size++)
		check_no_cache(*state, &file, size);
	file.flags = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 3 : 2;
	check_no_cache(*state, &file, sizeof(file));
	file = cache_file_make();
	file.count = UINT32_MAX;
	check_no_cache(*state, &file, sizeof(file));
	file = cache_file_make();
	file.magic[19] = '2';
	check_no_cache(*state, &file, sizeof(file));
}

/* Strings outside of the file, and one that is unterminated at its end. */
static void test_cache_with_invalid_offsets(void **state)
{
	struct cache_file file = cache_file_make();
	struct ldcache cache;
	uint32_t position = 0;

	file.entries[0].key = UINT32_MAX;
	file.entries[1].key = sizeof(file);
	file.entries[2].value = UINT32_MAX - 8;
	memset(file.strings + 40, 'z', sizeof(file.strings) - 40);
	scratch_write(*state, "cache", &file, sizeof(file), 0644);
	assert_int_equal(ldcache_open(scratch_path(*state, "cache"), &cache), 0);
	assert_string_equal(ldcache_next(&cache, "libx.so", &position), "");
	assert_null(ldcache_next(&cache, "libx.so", &position));
	ldcache_close(&cache);
	file.entries[2].value = sizeof(file) - 4;
	scratch_write(*state, "cache", &file, sizeof(file), 0644);
	assert_int_equal(ldcache_open(scratch_path(*state, "cache"), &cache), 0);
	position = 0;
	assert_string_equal(ldcache_next(&cache, "libx.so", &position), "zzzz");
	ldcache_close(&cache);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SCRATCH(test_cache),
		WITH_SCRATCH(test_cache_behind_old_format),
		WITH_SCRATCH(test_invalid_caches),
		WITH_SCRATCH(test_cache_with_invalid_offsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
