/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SHA-256 (FIPS 180-4), and HMAC (RFC 2104) based on it. The two ends of a connection use it to
 * prove that they know a token without sending it. In programs with TLS, OpenSSL computes both.
 * Small programs have code of their own.
 */
#ifndef MTRACE_NET_CONNECTION_SHA256_H
#define MTRACE_NET_CONNECTION_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

struct sha256_part {
	const void *bytes;
	size_t size;
};

/* Hash the concatenated parts. Return 0 or -ENOMEM. */
int sha256(const struct sha256_part *parts, size_t count, uint8_t ret_digest[SHA256_SIZE]);
int hmac_sha256(const struct sha256_part *key, const struct sha256_part *parts, size_t count,
		uint8_t ret_digest[SHA256_SIZE]);

/* Compares in constant time: the duration does not depend on where the bytes differ. */
bool bytes_equal_constant_time(const uint8_t *a, const uint8_t *b, size_t size);

#endif
