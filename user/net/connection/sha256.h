/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SHA-256 (FIPS 180-4), and HMAC (RFC 2104) based on it. The two ends of a connection use it to
 * prove that they know a token without sending it. Implemented here so that small targets need no
 * library for it.
 */
#ifndef MTRACE_NET_CONNECTION_SHA256_H
#define MTRACE_NET_CONNECTION_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE  32
#define SHA256_BLOCK 64

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[SHA256_BLOCK];
};

void sha256_begin(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const void *bytes, size_t size);
void sha256_end(struct sha256 *sum, uint8_t ret_digest[SHA256_SIZE]);

struct hmac {
	struct sha256 inner;
	uint8_t outer_key[SHA256_BLOCK];
};

void hmac_begin(struct hmac *hmac, const void *key, size_t size);
void hmac_add(struct hmac *hmac, const void *bytes, size_t size);
void hmac_end(struct hmac *hmac, uint8_t ret_digest[SHA256_SIZE]);

/* Compares in constant time: the duration does not depend on where the bytes differ. */
bool bytes_equal_constant_time(const uint8_t *a, const uint8_t *b, size_t size);

#endif
