/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/file/descriptors.h"

static int lowest_free(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	close(fd);
	return fd;
}

static void limit_set(rlim_t soft, rlim_t hard)
{
	const struct rlimit limit = {soft, hard};

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_codes(void **state)
{
	(void)state;
	assert_true(descriptors_missing(-EMFILE));
	assert_true(descriptors_missing(-ENFILE));
	assert_false(descriptors_missing(-ENOMEM));
	assert_false(descriptors_missing(0));
}

static void test_explanation(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(descriptors_explain(-EMFILE, &err), -EMFILE);
	assert_string_equal(err.text, "too many open files: raise ulimit -n");
	assert_int_equal(descriptors_explain(-ENFILE, &err), -ENFILE);
	assert_string_equal(err.text, "too many open files: raise sysctl fs.file-max");
}

/* The soft limit is raised to the hard one; what the check opens, it closes. */
static void test_check(void **state)
{
	int first = STDERR_FILENO + 1;
	struct rlimit limit;
	struct error err;

	(void)state;
	closefrom(first);
	limit_set((rlim_t)first + 2, (rlim_t)first + 20);
	assert_int_equal(descriptors_check(2, &err), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, first + 2);
	assert_int_equal(descriptors_check(20, &err), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, first + 20);
	assert_int_equal(descriptors_check(21, &err), -EMFILE);
	assert_int_equal(lowest_free(), first);
	assert_false(descriptors_raise());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_explanation),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
