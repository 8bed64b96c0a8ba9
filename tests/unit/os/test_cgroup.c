/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cgroups and containers, from the contents of /proc/PID/cgroup under each known runtime. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "os/process/cgroup.h"

#define ID    "3f9ab2c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80"
#define OTHER "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

struct row {
	const char *text;
	const char *path;
	const char *container;
};

static void assert_text(const char *found, const char *expected)
{
	if (expected)
		assert_string_equal(found, expected);
	else
		assert_null(found);
}

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct cgroup cgroup, copy;

		assert_int_equal(cgroup_parse(rows[i].text, &cgroup), 0);
		assert_int_equal(cgroup_copy(&copy, &cgroup), 0);
		assert_text(cgroup.path, rows[i].path);
		assert_text(cgroup.container, rows[i].container);
		cgroup_free(&cgroup);
		assert_text(copy.path, rows[i].path);
		assert_text(copy.container, rows[i].container);
		cgroup_free(&copy);
	}
}

static void test_paths(void **state)
{
	static const struct row rows[] = {
		{"", NULL, NULL},
		{"0::/\n", NULL, NULL},
		{"0::/user.slice/a b:c\n", "/user.slice/a b:c", NULL},
		/* Version 2 wins, wherever its line is; otherwise the longest path. */
		{"4:memory:/much/deeper\n0::/here\n", "/here", NULL},
		{"0::/here\n4:memory:/much/deeper\n", "/here", NULL},
		{"9:name=systemd:/\n4:memory:/a/b\n3:cpu,cpuacct:/a\n0::/\n", "/a/b", NULL},
		{"0::/no-end", "/no-end", NULL},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_containers(void **state)
{
	static const struct row rows[] = {
		{"0::/docker/" ID "\n", "/docker/" ID, ID},
		{"0::/system.slice/docker-" ID ".scope\n", "/system.slice/docker-" ID ".scope", ID},
		{"0::/machine.slice/libpod-" ID ".scope/container\n",
		 "/machine.slice/libpod-" ID ".scope/container", ID},
		{"0::/kubepods/burstable/pod1234/" ID "\n", "/kubepods/burstable/pod1234/" ID, ID},
		{"0::/docker/" OTHER "/docker/" ID "\n", "/docker/" OTHER "/docker/" ID, ID},
		{"4:memory:/docker/" ID "\n0::/\n", "/docker/" ID, ID},
		{"0::/lxc.payload.web/init.scope\n", "/lxc.payload.web/init.scope", "web"},
		{"0::/lxc/web\n", "/lxc/web", "web"},
		{"0::/machine.slice/machine-web.scope/payload\n",
		 "/machine.slice/machine-web.scope/payload", "web"},
		/* One digit more or less is not an ID. */
		{"0::/docker/" ID "0\n", "/docker/" ID "0", NULL},
		{"0::/x/3f9ab2c4d5e6f708192a3b4c5d6e7f80\n", "/x/3f9ab2c4d5e6f708192a3b4c5d6e7f80",
		 NULL},
		{"0::/lxc/\n", "/lxc/", NULL},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_garbage(void **state)
{
	static const struct row rows[] = {
		{"\n\n:\n::\n:::\n0:/\n0::relative\nno colon at all", NULL, NULL},
		{"0::\n", NULL, NULL},
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_of_self(void **state)
{
	struct cgroup cgroup;

	(void)state;
	assert_int_equal(cgroup_read(getpid(), &cgroup), 0);
	cgroup_free(&cgroup);
	assert_int_equal(cgroup_read(0x7ffffffe, &cgroup), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_of_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
