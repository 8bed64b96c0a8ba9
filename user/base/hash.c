// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/hash.h"

#define XXH_INLINE_ALL /* link only what is used: libxxhash.a is one object */
#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t size)
{
	return XXH3_64bits(bytes, size);
}

uint64_t hash_bytes_seeded(const void *bytes, size_t size, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, size, seed);
}

uint64_t hash_check(const void *bytes, size_t size, uint64_t seed)
{
	return XXH64(bytes, size, seed);
}
