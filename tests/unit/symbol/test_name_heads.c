// SPDX-License-Identifier: GPL-2.0-or-later
/* The filter accepts all names that are searched for, and rejects the most frequent others. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "api/api.h"
#include "symbol/probe_site/name_heads.h"

static void add(void *heads, const char *name)
{
	name_heads_add(heads, name);
}

static void check(void *heads, const char *name)
{
	if (!name_heads_may_have(heads, name))
		fail_msg("%s", name);
}

static void test_every_name(void **state)
{
	struct name_heads heads = {0};

	(void)state;
	api_each_symbol(add, &heads);
	api_each_symbol(check, &heads);
	assert_true(name_heads_may_have(&heads, "malloc@GLIBC_2.2.5"));
	assert_false(name_heads_may_have(&heads, "_ZNSt6vector"));
	assert_false(name_heads_may_have(&heads, "_ZTV5shape"));
	assert_false(name_heads_may_have(&heads, "ma"));
	assert_false(name_heads_may_have(&heads, "m"));
	assert_false(name_heads_may_have(&heads, ""));
}

static void test_short_start(void **state)
{
	struct name_heads heads = {0};
	char name[] = "rp?alloc";

	(void)state;
	assert_false(name_heads_may_have(&heads, "rpmalloc"));
	name_heads_add(&heads, "rp");
	for (int any = 1; any <= UINT8_MAX; any++) {
		name[2] = (char)any;
		check(&heads, name);
	}
	check(&heads, "rp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_name),
		cmocka_unit_test(test_short_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
