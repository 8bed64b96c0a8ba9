// SPDX-License-Identifier: GPL-2.0-or-later
/* One bit per hash of the first three characters. Two would not do: nearly all C++ names start with
 * the same two. */
#include "symbol/probe_site/name_heads.h"

#include <assert.h>

#define HASH_BITS 12

_Static_assert(1 << HASH_BITS == NAME_HEADS_BITS, "a bit for every hash");

static uint32_t hash(uint8_t first, uint8_t second, uint8_t third)
{
	uint32_t head = first | (uint32_t)second << 8 | (uint32_t)third << 16;

	return head * 0x9e3779b1u >> (32 - HASH_BITS); /* 2^32 / golden ratio: Knuth 6.4 */
}

static void set(struct name_heads *heads, uint32_t bit)
{
	heads->words[bit / 64] |= 1ULL << bit % 64;
}

void name_heads_add(struct name_heads *heads, const char *name)
{
	const uint8_t *at = (const uint8_t *)name;

	assert(at[0] && at[1]);
	if (at[2])
		set(heads, hash(at[0], at[1], at[2]));
	for (uint32_t any = 0; !at[2] && any <= UINT8_MAX; any++)
		set(heads, hash(at[0], at[1], (uint8_t)any));
}

bool name_heads_may_have(const struct name_heads *heads, const char *name)
{
	const uint8_t *at = (const uint8_t *)name;
	uint32_t bit = hash(at[0], at[0] ? at[1] : 0, at[0] && at[1] ? at[2] : 0);

	return heads->words[bit / 64] >> bit % 64 & 1;
}
