/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filtering and sampling: some of the program's heap calls are not reported, because of their size
 * or by chance (bpf/sample.h). This is decided at the entry, so that nothing is done for them at
 * the return: no stack is taken and no record sent.
 *
 * A call that is not reported must still hide the calls that it makes. If it makes none
 * (COOKIE_FLAG_LEAF), its return is not probed. Otherwise it is pending like any other call, but
 * silent.
 *
 * Frees are only reported if the block was. A table decides that: one byte per hash of the address,
 * set when a block is reported, never reset, and shared by all processes. So the free of a reported
 * block is never missed, not even in a child that inherits it. Frees of other blocks whose address
 * shares a byte are sent needlessly, and the model finds no such block. The realloc of a reported
 * block is reported even if the new block is not.
 *
 * Records carry the mean by which the call was sampled, in the upper byte of the flags: means may
 * change, and each block keeps its own weight.
 */
#ifndef MTRACE_BPF_ALLOC_FILTER_BPF_H
#define MTRACE_BPF_ALLOC_FILTER_BPF_H

#include "bpf/abi.h"
#include "bpf/sample.h"

/* Provided by the including file. */
static int filters_calls(void);           /* false: report everything */
static int is_size_wanted(abi_u64 bytes); /* --min-size, --max-size */
static abi_u32 sample_now(void);          /* the current level + 1; 0: no sampling */
static struct sample_rate sample_rate_at(abi_u32 level);
static abi_u32 random_word(void);
static abi_u8 *reported_byte_at(abi_u32 number); /* `number` is below REPORTED_BYTES; never NULL */
static void count_loss(enum loss loss);

#define REPORTED_HASH 0x9e3779b97f4a7c15ULL /* 2^64 / golden ratio (Knuth 6.4) */

static __always_inline abi_u8 *reported_byte(abi_u64 address)
{
	return reported_byte_at(address * REPORTED_HASH >> (64 - REPORTED_BITS));
}

static __always_inline void mark_reported(abi_u64 address)
{
	abi_u8 *place = reported_byte(address);

	if (place)
		*place = 1;
}

static __always_inline int may_be_reported(abi_u64 address)
{
	abi_u8 *place = reported_byte(address);

	return !place || *place;
}

/* The upper 32 random bits decide nearly all calls. The lower ones are drawn only if needed. */
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

/* Returns the sampling bits of a record's flags: 0 if every call is reported, a level + 1 if this
 * one was sampled at that level, SAMPLE_NOT if it is not to be reported. */
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
