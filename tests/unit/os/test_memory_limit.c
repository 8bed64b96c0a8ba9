/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory limit of cgroups, of either version and including their parents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/memory/limit.h"
#include "tests/unit/scratch.h"

#define LIMIT(text) memory_limit_of(text, ((struct scratch *)*state)->root)

static void put(void **state, const char *name, const char *text)
{
	struct scratch *scratch = *state;
	char path[128];

	strcpy(path, name);
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(scratch_path(scratch, path), 0755);
		*slash = '/';
	}
	scratch_write(scratch, name, text, strlen(text), 0644);
}

static void test_none(void **state)
{
	assert_true(LIMIT("") == UINT64_MAX);
	assert_true(LIMIT("0::/\n") == UINT64_MAX);
	assert_true(LIMIT("0::/a/b\n1:memory:/c\n") == UINT64_MAX);
	put(state, "a/b/memory.max", "max\n");
	assert_true(LIMIT("0::/a/b\n") == UINT64_MAX);
}

static void test_lowest_limit_of_the_ancestors(void **state)
{
	put(state, "a/b/memory.max", "9000000\n");
	assert_true(LIMIT("0::/a/b\n") == 9000000);
	assert_true(LIMIT("0::/a/b/c") == 9000000);
	assert_true(LIMIT("0::/a\n") == UINT64_MAX);
	put(state, "a/memory.max", "8388608\n");
	assert_true(LIMIT("0::/a/b\n") == 8388608);
	assert_true(LIMIT("0::/b\n") == UINT64_MAX);
	put(state, "memory.max", "4096\n"); /* a container sees its own cgroup as the root */
	assert_true(LIMIT("0::/a/b\n") == 4096);
	assert_true(LIMIT("0::/\n") == 4096);
}

static void test_version_1(void **state)
{
	put(state, "memory/a/memory.limit_in_bytes", "9223372036854771712\n");
	assert_true(LIMIT("9:memory:/a\n") == 9223372036854771712ULL);
	put(state, "memory/a/memory.limit_in_bytes", "8388608\n");
	assert_true(LIMIT("9:memory:/a\n0::/\n") == 8388608);
	assert_true(LIMIT("9:hugetlb,memory:/a/b\n") == 8388608);
	assert_true(LIMIT("9:memory,hugetlb:/a/b\n") == 8388608);
	assert_true(LIMIT("9:memory2,xmemory:/a\n9:name=memory:/a\n") == UINT64_MAX);
}

static void test_invalid_limits(void **state)
{
	put(state, "a/memory.max", "-1\n");
	assert_true(LIMIT("0::/a\n") == UINT64_MAX);
	put(state, "a/memory.max", "");
	assert_true(LIMIT("0::/a\n") == UINT64_MAX);
	put(state, "a/memory.max", "99999999999999999999999\n");
	assert_true(LIMIT("0::/a\n") == UINT64_MAX);
	put(state, "a/memory.max", "12 13\n");
	assert_true(LIMIT("0::/a\n") == UINT64_MAX);
	assert_true(LIMIT(":\n::\n0:\n0::\n\n:::::/a") == UINT64_MAX);
}

#define LEFT(text) memory_left_of(text, ((struct scratch *)*state)->root)

static void test_what_is_left(void **state)
{
	put(state, "a/b/memory.max", "9000\n");
	assert_true(LEFT("0::/a/b\n") == 9000);
	put(state, "a/b/memory.current", "5000\n");
	assert_true(LEFT("0::/a/b\n") == 4000);
	put(state, "a/b/memory.stat",
	    "anon 1\ninactive_file 2000\nactive_file 500\nslab_reclaimable 500\n"
	    "slab_unreclaimable 1000\n");
	assert_true(LEFT("0::/a/b\n") == 7000);
	put(state, "a/memory.max", "8000\n");
	put(state, "a/memory.current", "9000\n");
	assert_true(LEFT("0::/a/b\n") == 0);
	put(state, "memory/c/memory.limit_in_bytes", "8000\n");
	put(state, "memory/c/memory.usage_in_bytes", "6000\n");
	put(state, "memory/c/memory.stat",
	    "inactive_file 1\ntotal_inactive_file 5000\ntotal_active_file 2000\n");
	assert_true(LEFT("9:memory:/c\n") == 8000);
	assert_in_range(memory_left(), 1 << 20, memory_limit());
}

static void test_this_machine(void **state)
{
	(void)state;
	assert_in_range(memory_limit(), 1 << 20, UINT64_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)
		TEST(test_none),         TEST(test_lowest_limit_of_the_ancestors),
		TEST(test_version_1),    TEST(test_invalid_limits),
		TEST(test_what_is_left), TEST(test_this_machine),
	};

	return cmocka_run_group_tests_name("memory_limit", tests, NULL, NULL);
}
