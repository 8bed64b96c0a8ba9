// SPDX-License-Identifier: GPL-2.0-or-later
/* Our own SHA-256 and HMAC, for programs without OpenSSL. */
#include "net/connection/sha256.h"

#include <string.h>

#define ROUNDS 64
#define BLOCK  64

struct sum {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[BLOCK];
};

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned int by)
{
	return word >> by | word << (32 - by);
}

static void schedule(uint32_t words[ROUNDS], const uint8_t *block)
{
	for (int i = 0; i < 16; i++)
		words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
			   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < ROUNDS; i++) {
		uint32_t a = words[i - 15], b = words[i - 2];

		words[i] = words[i - 16] + words[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
			   (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
}

static void take_block(struct sum *sum, const uint8_t *block)
{
	uint32_t words[ROUNDS], s[8];

	schedule(words, block);
	memcpy(s, sum->state, sizeof(s));
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t e = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
		uint32_t a = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
		uint32_t first =
			s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + words[i];
		uint32_t second = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += first;
		s[0] = first + second;
	}
	for (int i = 0; i < 8; i++)
		sum->state[i] += s[i];
}

static void sum_begin(struct sum *sum)
{
	*sum = (struct sum){
		.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
			  0x1f83d9ab, 0x5be0cd19},
	};
}

static void sum_add(struct sum *sum, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (; size; size--) {
		sum->block[sum->bytes++ % BLOCK] = *at++;
		if (!(sum->bytes % BLOCK))
			take_block(sum, sum->block);
	}
}

static void sum_add_parts(struct sum *sum, const struct sha256_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sum_add(sum, parts[i].bytes, parts[i].size);
}

static void sum_end(struct sum *sum, uint8_t ret_digest[SHA256_SIZE])
{
	static const uint8_t filling[BLOCK] = {0x80};
	uint64_t bits = 8 * sum->bytes;
	size_t used = sum->bytes % BLOCK;
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sum_add(sum, filling, (used < 56 ? 56 : 120) - used);
	sum_add(sum, length, sizeof(length));
	for (int i = 0; i < SHA256_SIZE; i++)
		ret_digest[i] = (uint8_t)(sum->state[i / 4] >> (24 - 8 * (i % 4)));
}

int sha256(const struct sha256_part *parts, size_t count, uint8_t ret_digest[SHA256_SIZE])
{
	struct sum sum;

	sum_begin(&sum);
	sum_add_parts(&sum, parts, count);
	sum_end(&sum, ret_digest);
	return 0;
}

int hmac_sha256(const struct sha256_part *key, const struct sha256_part *parts, size_t count,
		uint8_t ret_digest[SHA256_SIZE])
{
	uint8_t block[BLOCK] = {0};
	struct sum sum;

	if (key->size > sizeof(block))
		sha256(key, 1, block);
	else if (key->size)
		memcpy(block, key->bytes, key->size);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36;
	sum_begin(&sum);
	sum_add(&sum, block, sizeof(block));
	sum_add_parts(&sum, parts, count);
	sum_end(&sum, ret_digest);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36 ^ 0x5c;
	sum_begin(&sum);
	sum_add(&sum, block, sizeof(block));
	sum_add(&sum, ret_digest, SHA256_SIZE);
	sum_end(&sum, ret_digest);
	return 0;
}

bool bytes_equal_constant_time(const uint8_t *a, const uint8_t *b, size_t size)
{
	volatile uint8_t different = 0;

	for (size_t i = 0; i < size; i++)
		different |= a[i] ^ b[i];
	return !different;
}
