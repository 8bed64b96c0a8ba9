/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which programs would translate our breakpoints as part of the code that they run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/trace/translator.h"

static void test_translators(void **state)
{
	static const char *const paths[] = {
		"/usr/bin/valgrind.bin",
		"/usr/bin/valgrind",
		"/usr/libexec/valgrind/memcheck-amd64-linux",
		"/opt/lib/valgrind/none-x86-linux",
		"/usr/bin/qemu-x86_64",
		"/usr/bin/qemu-x86_64-static",
		"qemu-i386",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!translator_is_path(paths[i]))
			fail_msg("%s", paths[i]);
}

/* Most programs whose names contain qemu or valgrind are harmless. */
static void test_programs_that_are_no_translators(void **state)
{
	static const char *const paths[] = {
		"",
		"/",
		"/usr/bin/sh",
		"/usr/bin/qemu-system-x86_64",
		"/usr/sbin/qemu-ga",
		"/usr/bin/qemu-img",
		"/usr/bin/qemu-aarch64-static",
		"/usr/bin/valgrind-listener",
		"/usr/libexec/valgrind/getoff-amd64-linux-x",
		"/home/valgrind/-linux/sh",
		"/usr/bin/memcheck-amd64-linux",
		"/usr/libexec/valgrind/linux",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (translator_is_path(paths[i]))
			fail_msg("%s", paths[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_translators),
		cmocka_unit_test(test_programs_that_are_no_translators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
