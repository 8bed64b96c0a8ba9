/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the HTTP server refuses: names that are not ours, guesses, and too many connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http/brake.h"
#include "net/http/host.h"
#include "net/http/visitors.h"

#define SECOND 1000000000ULL
#define START  (1000 * SECOND)

static void test_hosts(void **state)
{
	static const struct {
		const char *header;
		bool ours;
	} rows[] = {
		{"127.0.0.1", true},
		{"127.0.0.1:9740", true},
		{"10.1.2.3:9740", true},
		{"[::1]", true},
		{"[2001:db8::1]:9740", true},
		{"localhost", true},
		{"LocalHost:9740", true},
		{"localhost.", true},
		{"board", true},
		{"board.example.com:9740", true},
		{"", false},
		{":9740", false},
		{".", false},
		{"evil.example", false},
		{"evil.example:9740", false},
		{"localhost.evil.example", false},
		{"board.evil.example", false},
		{"evil.example:127.0.0.1", false},
		{"127.0.0.1.evil.example", false},
		{"127.0.0.1:80@evil.example", false},
		{"[::1", false},
		{"[::1]evil.example", false},
		{"[evil.example]", false},
		{"[127.0.0.1]", false},
		{"::1", false},
	};
	struct host_names names = {.count = 0};
	(void)state;

	host_names_add(&names, "localhost");
	host_names_add(&names, "board");
	host_names_add(&names, "board.example.com");
	host_names_add(&names, "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (host_is_ours(&names, rows[i].header) != rows[i].ours)
			fail_msg("wrong for \"%s\"", rows[i].header);
}

static void test_own_names(void **state)
{
	struct host_names names = {.count = 0}, few = {.count = 0};
	char host[ADDRESS_HOST_SIZE] = "", longest[2 * ADDRESS_HOST_SIZE] = "";
	(void)state;

	host_names_find(&names, "metrics.example:9740");
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	assert_true(host_is_ours(&names, host));
	assert_true(host_is_ours(&names, "localhost:9740"));
	assert_true(host_is_ours(&names, "metrics.example"));
	assert_false(host_is_ours(&names, "evil.example"));
	host_names_find(&few, "9740");
	assert_false(host_is_ours(&few, "9740"));
	assert_false(host_is_ours(&few, "metrics.example"));
	memset(longest, 'x', sizeof(longest) - 1);
	for (int i = 0; i < 2 * HOST_NAMES_MAX; i++)
		host_names_add(&few, i % 2 ? longest : "x");
	assert_int_equal(few.count, HOST_NAMES_MAX);
	assert_false(host_is_ours(&few, longest));
}

static void test_names_are_allowed(void **state)
{
	static const char *const invalid[] = {"",    ",",   "a,",    ",a", "a:80",
					      "a b", "*.a", "[::1]", "."};
	struct host_names names = {.count = 0};
	char longest[2 * ADDRESS_HOST_SIZE] = "";
	struct error err;
	(void)state;

	assert_int_equal(host_names_allow(&names, "mtrace,my_alias.example.", &err), 0);
	assert_int_equal(names.count, 2);
	assert_true(host_is_ours(&names, "mtrace:9740"));
	assert_true(host_is_ours(&names, "My_Alias.example"));
	assert_false(host_is_ours(&names, "mtrace,my_alias.example"));
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		if (host_names_allow(&names, invalid[i], &err) != -EINVAL)
			fail_msg("accepted \"%s\"", invalid[i]);
	memset(longest, 'x', sizeof(longest) - 1);
	assert_int_equal(host_names_allow(&names, longest, &err), -EINVAL);
	while (names.count < HOST_NAMES_MAX)
		assert_int_equal(host_names_allow(&names, "x", &err), 0);
	assert_int_equal(host_names_allow(&names, "y", &err), -EINVAL);
}

static void test_waits_grow(void **state)
{
	static const unsigned int waits[] = {0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 64, 64};
	struct brake brake = {0};
	uint64_t now = START;
	(void)state;

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		assert_int_equal(brake_wait(&brake, 1, now), 0);
		brake_wrong(&brake, 1, now);
		assert_int_equal(brake_wait(&brake, 1, now), waits[i]);
		assert_int_equal(brake_wait(&brake, 2, now), 0);
		now += waits[i] * SECOND;
	}
	now += 600 * SECOND; /* forgotten */
	brake_wrong(&brake, 1, now);
	assert_int_equal(brake_wait(&brake, 1, now), 0);
}

/* Those that guess most stay, however many others come. */
static void test_table_is_bounded(void **state)
{
	struct brake brake = {0};
	(void)state;

	for (int i = 0; i < BRAKE_FREE; i++)
		brake_wrong(&brake, 1, START);
	for (uint64_t origin = 2; origin < 100 * BRAKE_ORIGINS; origin++)
		brake_wrong(&brake, origin, START + origin);
	assert_int_equal(brake_wait(&brake, 1, START), 1);
	for (int i = 0; i < BRAKE_FREE; i++)
		brake_wrong(&brake, 0, START);
	assert_int_equal(brake_wait(&brake, 0, START), 1);
}

static bool is_shut(int fd)
{
	char byte;

	return !recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
}

static void test_share_of_an_origin(void **state)
{
	struct visitor *own[VISITORS_SHARE], *other;
	struct visitors visitors;
	int ends[2];
	(void)state;

	visitors_init(&visitors);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	other = visitors_add(&visitors, ends[1], 2, START);
	for (uint64_t i = 0; i < VISITORS_SHARE; i++) {
		visitors_make_room(&visitors, 1);
		own[i] = visitors_add(&visitors, dup(ends[0]), 1, START + 1 + i);
		own[i]->heard = i != 5 && i != 7;
	}
	visitors_make_room(&visitors, 2);
	assert_false(is_shut(ends[0]));
	visitors_make_room(&visitors, 1);
	assert_true(own[5]->cut); /* the oldest that has sent nothing */
	assert_true(is_shut(ends[0]));
	visitors_make_room(&visitors, 1); /* that one is as good as gone */
	assert_false(own[7]->cut);
	visitors_add(&visitors, dup(ends[0]), 1, START + 100)->heard = true;
	visitors_make_room(&visitors, 1);
	assert_true(own[7]->cut);
	visitors_add(&visitors, dup(ends[0]), 1, START + 101)->heard = true;
	visitors_make_room(&visitors, 1);
	assert_true(own[0]->cut); /* the oldest */
	assert_false(other->cut);
	for (size_t i = 0; i < VISITORS_MAX; i++)
		if (visitors.list[i].fd >= 0 && visitors.list[i].fd != ends[1])
			close(visitors.list[i].fd);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_own_names),
		cmocka_unit_test(test_names_are_allowed),
		cmocka_unit_test(test_waits_grow),
		cmocka_unit_test(test_table_is_bounded),
		cmocka_unit_test(test_share_of_an_origin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
