/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 and HMAC: published examples, and parts of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "net/connection/sha256.h"

static void assert_digest(const uint8_t digest[SHA256_SIZE], const char *expected)
{
	char text[2 * SHA256_SIZE + 1];

	for (int i = 0; i < SHA256_SIZE; i++)
		sprintf(text + 2 * i, "%02x", digest[i]);
	assert_string_equal(text, expected);
}

/* The examples of FIPS 180-4, and lengths around the block size. */
static void test_sha256(void **state)
{
	static const struct {
		const char *unit;
		size_t times;
		const char *digest;
	} rows[] = {
		{"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
		{"a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
		{"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
		{"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
	};
	static struct sha256_part parts[1000000];
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t digest[SHA256_SIZE];

		for (size_t j = 0; j < rows[i].times; j++)
			parts[j] = (struct sha256_part){rows[i].unit, strlen(rows[i].unit)};
		assert_int_equal(sha256(parts, rows[i].times, digest), 0);
		assert_digest(digest, rows[i].digest);
	}
}

/* RFC 4231: cases 2 and 6, a short key and one longer than a block. */
static void test_hmac(void **state)
{
	static const char hashed[] = "Test Using Larger Than Block-Size Key - Hash Key First";
	const struct sha256_part short_key = {"Jefe", 4};
	const struct sha256_part question[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
	const struct sha256_part whole = {hashed, strlen(hashed)};
	uint8_t digest[SHA256_SIZE], bytes[131];
	const struct sha256_part long_key = {bytes, sizeof(bytes)};
	(void)state;

	assert_int_equal(hmac_sha256(&short_key, question, 2, digest), 0);
	assert_digest(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(bytes, 0xaa, sizeof(bytes));
	assert_int_equal(hmac_sha256(&long_key, &whole, 1, digest), 0);
	assert_digest(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void test_comparison(void **state)
{
	uint8_t one[SHA256_SIZE] = {0}, other[SHA256_SIZE] = {0};
	(void)state;

	assert_true(bytes_equal_constant_time(one, other, sizeof(one)));
	for (size_t i = 0; i < sizeof(one); i++) {
		other[i] ^= 0x80;
		assert_false(bytes_equal_constant_time(one, other, sizeof(one)));
		other[i] = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256),
		cmocka_unit_test(test_hmac),
		cmocka_unit_test(test_comparison),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
