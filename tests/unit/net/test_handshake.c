/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handshake of server and client before the stream, and its parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/connection/address.h"
#include "net/protocol/backlog.h"
#include "net/protocol/handshake.h"
#include "tests/unit/scratch.h"

static void test_messages(void **state)
{
	const struct handshake_token token = {.bytes = "sixteen bytes or", .size = 16},
				     other = {.bytes = "sixteen bytes Or", .size = 16};
	struct handshake_greeting greeting = {.wants_proof = true, .nonce = {1, 2, 3}}, greeted;
	struct handshake_request request = {.trace = ~7ULL, .offset = 1ULL << 40, .nonce = {9}},
				 asked;
	struct handshake_answer answer = {.status = HANDSHAKE_GONE, .control = true, .trace = 5},
				answered;
	uint8_t first[GREETING_SIZE], second[REQUEST_SIZE], third[ANSWER_SIZE];
	(void)state;

	greeting_pack(first, &greeting);
	assert_int_equal(greeting_unpack(first, &greeted), 0);
	assert_memory_equal(&greeted, &greeting, sizeof(greeting));
	request_pack(second, &request, &token, first);
	assert_int_equal(request_unpack(second, &asked), 0);
	assert_true(asked.trace == request.trace && asked.offset == request.offset);
	assert_true(request_is_proven(second, &token, first));
	assert_false(request_is_proven(second, &other, first));
	answer_pack(third, &answer, &token, second);
	assert_int_equal(answer_unpack(third, &answered), 0);
	assert_true(answered.status == HANDSHAKE_GONE && answered.control && answered.trace == 5);
	assert_true(answer_is_proven(third, &token, second));
	assert_false(answer_is_proven(third, &other, second));
	third[24] ^= 1;
	assert_false(answer_is_proven(third, &token, second));
	first[40] ^= 1; /* the same request to a server with another nonce */
	assert_false(request_is_proven(second, &token, first));
}

/* Invalid messages are refused, whichever byte differs. */
static void test_invalid_messages(void **state)
{
	struct handshake_greeting greeting = {0};
	struct handshake_request request;
	struct handshake_answer answer = {0};
	const struct handshake_token none = {.size = 0};
	uint8_t bytes[REQUEST_SIZE] = {0}, before[REQUEST_SIZE] = {0};
	struct handshake_order order, written = {.kind = ORDER_END};

	(void)state;

	assert_int_equal(request_unpack(bytes, &request), -EBADMSG);
	assert_int_equal(order_unpack(bytes, &order), -EBADMSG);
	greeting_pack(bytes, &greeting);
	assert_int_equal(request_unpack(bytes, &request), -EBADMSG);
	assert_int_equal(answer_unpack(bytes, &answer), -EBADMSG);
	bytes[8] = 2;
	assert_int_equal(greeting_unpack(bytes, &greeting), -EPROTONOSUPPORT);
	answer_pack(bytes, &answer, &none, before);
	bytes[10] = HANDSHAKE_STATUS_COUNT;
	assert_int_equal(answer_unpack(bytes, &answer), -EBADMSG);
	order_pack(bytes, &written);
	assert_int_equal(order_unpack(bytes, &order), 0);
	assert_int_equal(order.kind, ORDER_END);
	written = (struct handshake_order){ORDER_SCAN, true, HANDSHAKE_TAG_MAX, UINT32_MAX - 1};
	order_pack(bytes, &written);
	assert_int_equal(order_unpack(bytes, &order), 0);
	assert_int_equal(order.kind, ORDER_SCAN);
	assert_true(order.live);
	assert_int_equal(order.tag, HANDSHAKE_TAG_MAX);
	assert_int_equal(order.pid, UINT32_MAX - 1);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void test_token_file(void **state)
{
	struct scratch *scratch = *state;
	struct handshake_token token = {0};
	struct error err;
	char path[128];

	snprintf(path, sizeof(path), "%s/token", scratch->root);
	assert_int_equal(token_read(&token, path, &err), -ENOENT);
	write_file(path, "0123456789abcdef\r\n", 0600);
	assert_int_equal(token_read(&token, path, &err), 0);
	assert_int_equal(token.size, 16);
	write_file(path, "0123456789abcde\n", 0600);
	assert_int_equal(token_read(&token, path, &err), -EINVAL);
	write_file(path, "0123456789abcdef", 0640);
	assert_int_equal(token_read(&token, path, &err), -EPERM);
}

static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)(offset * 2654435761u >> 13);
}

static void add(struct backlog *backlog, size_t size)
{
	uint8_t *bytes = malloc(size + 1);

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(backlog->end + i);
	assert_int_equal(backlog_add(backlog, bytes, size), 0);
	free(bytes);
}

static void assert_kept(const struct backlog *backlog)
{
	uint64_t offset = backlog->begin;
	const uint8_t *bytes;
	size_t size;

	while ((size = backlog_at(backlog, offset, &bytes)))
		for (size_t i = 0; i < size; i++, offset++)
			assert_int_equal(bytes[i], byte_at(offset));
	assert_true(offset == backlog->end);
}

static void test_overflow_buffer(void **state)
{
	static const size_t sizes[] = {1, 0, 65535, 65536, 7, 200000, 65529, 1, 131072};
	struct backlog backlog = {0};
	(void)state;

	for (size_t round = 0; round < 4; round++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			add(&backlog, sizes[i]);
			assert_kept(&backlog);
			if (i % 3 == round % 3)
				backlog_discard(&backlog,
						backlog.begin + (backlog.end - backlog.begin) / 2);
			assert_kept(&backlog);
		}
		backlog_discard(&backlog, backlog.end);
		assert_true(backlog.pieces.count <= 1);
		assert_kept(&backlog);
		backlog_discard(&backlog, backlog.end + 1); /* no effect */
		backlog_discard(&backlog, 0);
	}
	backlog_free(&backlog);
}

static void test_addresses(void **state)
{
	static const struct {
		const char *words, *text;
		bool loopback;
	} rows[] = {
		{"127.0.0.1:80", "127.0.0.1:80", true},
		{"127.0.0.1", "127.0.0.1:4576", true},
		{"[::1]:80", "[::1]:80", true},
		{"[::1]", "[::1]:4576", true},
		{"::1", "[::1]:4576", true},
		{"0.0.0.0:0", "0.0.0.0:0", false},
		{"unix:/a b", "unix:/a b", false},
		{"10.1.2.3:65535", "10.1.2.3:65535", false},
	};
	static const char *const bad[] = {"unix:",       "[::1",   "[::1]x",    "127.0.0.1:65536",
					  "127.0.0.1:x", "[::1]:", "1:2:3:4:zz"};
	struct addresses found;
	char text[ADDRESS_TEXT_SIZE], host[ADDRESS_HOST_SIZE];
	struct error err;
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(address_find(&found, rows[i].words, 4576, &err), 0);
		assert_string_equal(address_text(&found.list[0], text), rows[i].text);
		assert_int_equal(address_is_loopback(&found.list[0]), rows[i].loopback);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(address_find(&found, bad[i], 4576, &err) < 0);
	assert_string_equal(address_host("[::1]:5", host), "::1");
	assert_string_equal(address_host("board.example:5", host), "board.example");
	assert_string_equal(address_host(":5", host), "localhost");
}

static uint64_t origin_of(const char *words)
{
	struct addresses found;
	struct error err;

	assert_int_equal(address_find(&found, words, 4576, &err), 0);
	return address_origin((const struct sockaddr *)&found.list[0].where);
}

static void test_origins(void **state)
{
	(void)state;
	assert_true(origin_of("10.0.0.1:1") == origin_of("10.0.0.1:2"));
	assert_true(origin_of("10.0.0.1") != origin_of("10.0.0.2"));
	assert_true(origin_of("10.0.0.1") != origin_of("::"));
	assert_true(origin_of("2001:db8:0:1::1") == origin_of("2001:db8:0:1:ffff::2"));
	assert_true(origin_of("2001:db8:0:1::1") != origin_of("2001:db8:0:2::1"));
	assert_true(address_user_origin(0) != address_user_origin(1));
	assert_true(address_user_origin(1) != origin_of("0.0.0.1"));
	assert_true(address_user_origin(0) != origin_of("::1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_invalid_messages),
		cmocka_unit_test_setup_teardown(test_token_file, scratch_setup, scratch_teardown),
		cmocka_unit_test(test_overflow_buffer),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_origins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
