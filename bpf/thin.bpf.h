/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thinning: of the heap calls that are the program's own, some are not told, by their size or by
 * chance (bpf/sample.h). That is decided at the entry, so that for the others nothing is done at
 * the return, no stack taken, and nothing sent.
 *
 * A call that is not told must still hide the calls that it makes. Where it is known to make none
 * (COOKIE_FLAG_LEAF) its return is not watched; else it is pending like any other, but mute.
 *
 * What is freed was told or not; only the former is sent on. A table says so, of bytes by the
 * address's hash: set when a block is told, never reset, shared by all processes. So what was told
 * is never missed, also of a child that has it from its parent; what only shares a byte is sent in
 * vain, and whoever keeps the books finds no such block. A realloc of what was told is told, even
 * if its new block is not.
 *
 * Which mean a call was chosen by goes with it to its record, in the upper byte of the flags: means
 * may change, and a block has the weight of its own.
 */
#ifndef MTRACE_BPF_THIN_BPF_H
#define MTRACE_BPF_THIN_BPF_H

#include "bpf/abi.h"
#include "bpf/sample.h"

/* Provided by the including file. */
static int is_thinned(void);              /* else all is told */
static int is_size_wanted(abi_u64 bytes); /* --min-size, --max-size */
static abi_u32 sample_now(void);          /* a record's sample: 0 or a level + 1 */
static struct sample_rate sample_rate_at(abi_u32 level);
static abi_u32 random_word(void);
static abi_u8 *told_byte(abi_u32 number); /* number: below TOLD_BYTES; NULL never happens */
static void count_loss(enum loss loss);

#define TOLD_HASH 0x9e3779b97f4a7c15ULL /* 2^64 by the golden ratio (Knuth 6.4) */

static __always_inline abi_u8 *told_place(abi_u64 address)
{
	return told_byte(address * TOLD_HASH >> (64 - TOLD_BITS));
}

static __always_inline void told_note(abi_u64 address)
{
	abi_u8 *place = told_place(address);

	if (place)
		*place = 1;
}

static __always_inline int told_maybe(abi_u64 address)
{
	abi_u8 *place = told_place(address);

	return !place || *place;
}

/* Nearly all calls are answered by the first word. */
static __always_inline abi_u32 sample_draw(abi_u32 sample, abi_u64 bytes)
{
	struct sample_rate rate = sample_rate_at(sample - 1);
	abi_u64 share, drawn;

	if (bytes >= rate.limit)
		return sample;
	share = sample_share(&rate, bytes);
	drawn = (abi_u64)random_word() << 32;
	if (drawn >= sample_chance_most(share))
		return SAMPLE_NOT;
	return (drawn | random_word()) < sample_threshold(share) ? sample : SAMPLE_NOT;
}

/* What is to be in the flags of a heap call of that size. */
static __always_inline abi_u32 sample_choose(abi_u64 bytes)
{
	abi_u32 sample;

	if (!is_size_wanted(bytes)) {
		count_loss(LOSS_FILTERED);
		return SAMPLE_NOT;
	}
	sample = sample_now();
	return sample ? sample_draw(sample, bytes) : 0;
}

#endif
