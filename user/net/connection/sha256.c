// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/connection/sha256.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

int sha256(const struct sha256_part *parts, size_t count, uint8_t ret_digest[SHA256_SIZE])
{
	EVP_MD_CTX *sum = EVP_MD_CTX_new();
	bool done = sum && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1;

	for (size_t i = 0; i < count && done; i++)
		done = EVP_DigestUpdate(sum, parts[i].bytes, parts[i].size) == 1;
	done = done && EVP_DigestFinal_ex(sum, ret_digest, NULL) == 1;
	EVP_MD_CTX_free(sum);
	if (!done)
		ERR_clear_error();
	return done ? 0 : -ENOMEM;
}

int hmac_sha256(const struct sha256_part *key, const struct sha256_part *parts, size_t count,
		uint8_t ret_digest[SHA256_SIZE])
{
	EVP_PKEY *secret = EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, NULL, key->bytes, key->size);
	EVP_MD_CTX *sum = EVP_MD_CTX_new();
	size_t size = SHA256_SIZE;
	bool done = secret && sum && EVP_DigestSignInit(sum, NULL, EVP_sha256(), NULL, secret) == 1;

	for (size_t i = 0; i < count && done; i++)
		done = EVP_DigestSignUpdate(sum, parts[i].bytes, parts[i].size) == 1;
	done = done && EVP_DigestSignFinal(sum, ret_digest, &size) == 1;
	EVP_MD_CTX_free(sum);
	EVP_PKEY_free(secret);
	if (!done)
		ERR_clear_error();
	return done ? 0 : -ENOMEM;
}

bool bytes_equal_constant_time(const uint8_t *a, const uint8_t *b, size_t size)
{
	return !CRYPTO_memcmp(a, b, size);
}
