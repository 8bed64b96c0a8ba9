/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the blocks of a site lived before they were freed, in milliseconds, and how many of them
 * were temporary: freed by the thread that allocated them, before it allocated anything else. Not
 * available for mapped regions. Temporary blocks are not counted if only some calls are recorded.
 */
#ifndef MTRACE_MODEL_BLOCK_LIFETIME_H
#define MTRACE_MODEL_BLOCK_LIFETIME_H

#include <stdint.h>

/* Bucket 0: less than 1 ms; bucket i: less than 4^i ms; the last one: everything longer. */
#define LIFETIME_BUCKETS 16

struct lifetimes {
	uint64_t sum_ms;
	uint64_t count;
	uint64_t temporary;
	uint32_t min_ms; /* valid if count > 0 */
	uint32_t max_ms;
	uint32_t buckets[LIFETIME_BUCKETS]; /* saturate at UINT32_MAX */
};

/* `blocks` is the number of blocks that a sample stands for. */
static inline void lifetimes_add(struct lifetimes *lifetimes, uint32_t ms, uint64_t blocks)
{
	uint32_t bits = ms ? 32 - (uint32_t)__builtin_clz(ms) : 0;
	uint32_t *bucket =
		&lifetimes->buckets[(bits + 1) / 2 < LIFETIME_BUCKETS ? (bits + 1) / 2
								      : LIFETIME_BUCKETS - 1];

	if (!lifetimes->count || ms < lifetimes->min_ms)
		lifetimes->min_ms = ms;
	if (ms > lifetimes->max_ms)
		lifetimes->max_ms = ms;
	lifetimes->sum_ms += ms * blocks;
	lifetimes->count += blocks;
	*bucket = blocks < UINT32_MAX - *bucket ? *bucket + (uint32_t)blocks : UINT32_MAX;
}

#endif
