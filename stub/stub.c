// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a gate does rarely: at a thread's first call, when its budget is used up, and for the blocks
 * that are sampled. This code runs in the traced process, at any call of an allocation function,
 * also in signal handlers: it takes no locks, makes no system calls, uses no thread-local storage,
 * and only general registers.
 *
 * A byte is hit with a probability of 1 / mean, and a call is sampled if one of its bytes is hit
 * (bpf/sample.h). The distance to the next hit is exponentially distributed. That distribution has
 * no memory: what was drawn for one thread may be used by another, and what is left of a budget may
 * be thrown away.
 */
#include "stub/abi.h"
#include "bpf/abi.h"

_Static_assert(STUB_FRAME == GATE_FRAME, "the probe program finds the caller behind the frame");

#define SLOT_OF(data, thread)                                   \
	((struct stub_slot *)((char *)(data) + STUB_SLOTS_AT) + \
	 ((uint32_t)(thread)*STUB_HASH >> (32 - STUB_SLOT_BITS)))

/* The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators"
 * (OOPSLA 2014). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

#define LOG_BITS 32            /* fractional bits of a logarithm */
#define LN_2     2977044472ULL /* ln 2, with 32 fractional bits */

/* -log2(x / 2^64), digit by digit: squaring a number between 1 and 2 doubles its logarithm. */
static uint64_t minus_log2(uint64_t x)
{
	int zeros = __builtin_clzll(x);
	uint64_t log = 0;

	x <<= zeros;
	for (int i = 0; i < LOG_BITS; i++) {
		unsigned __int128 square = (unsigned __int128)x * x;
		int above = square >> 127 != 0;

		x = (uint64_t)(square >> (above ? 64 : 63));
		log = log << 1 | (uint64_t)above;
	}
	return ((uint64_t)(zeros + 1) << LOG_BITS) - log;
}

/* The number of bytes before the next hit: -mean * ln(u), with u uniform between 0 and 1. */
static uint64_t draw(uint64_t *random, uint64_t mean)
{
	uint64_t log = minus_log2(next_random(random) | 1);
	uint64_t natural = (uint64_t)((unsigned __int128)log * LN_2 >> LOG_BITS);

	return (uint64_t)((unsigned __int128)natural * mean >> LOG_BITS);
}

#define MEAN_MAX (1ULL << 40)

static uint64_t mean_at(const struct stub_data *data, uint32_t sample)
{
	uint32_t level = sample - 1;

	return level > 40 || data->mean > MEAN_MAX >> level ? MEAN_MAX : data->mean << level;
}

static void refill(const struct stub_data *data, struct stub_slot *slot, uint32_t sample)
{
	slot->budget = draw(&slot->random, mean_at(data, sample));
	slot->sample = sample;
}

static int is_nested(const struct stub_data *data, uint64_t caller)
{
	for (uint32_t i = 0; i < data->range_count && i < STUB_RANGES; i++)
		if (caller - data->ranges[i].start < data->ranges[i].end - data->ranges[i].start)
			return 1;
	return 0;
}

/* Two threads with the same hash take the slot from each other: slower, but right. A budget that
 * both change at once may lose a change. */
static struct stub_slot *slot_of(struct stub_data *data, uint64_t thread, uint32_t sample)
{
	struct stub_slot *slot = SLOT_OF(data, thread);

	if (!slot->sample) {
		slot->random = data->seed ^ thread * 0xd1342543de82ef95ULL;
		refill(data, slot, sample);
	}
	slot->thread = thread;
	return slot;
}

/*
 * Charges a call. Returns the sample by which it was hit, or 0. `caller` is its return address: a
 * hit of a call that belongs to another call is thrown away, since the other one was charged, too.
 */
uint32_t stub_charge(struct stub_data *data, uint64_t thread, uint64_t bytes, uint64_t caller)
{
	uint32_t sample = data->sample, hit_by;
	struct stub_slot *slot;

	if (!sample)
		return 0;
	slot = slot_of(data, thread, sample);
	bytes = bytes ? bytes : 1;
	if (slot->budget >= bytes) {
		slot->budget -= bytes;
		return 0;
	}
	hit_by = slot->sample;
	refill(data, slot, sample);
	return is_nested(data, caller) ? 0 : hit_by;
}

/* For calloc: the product, or 0 if it overflows. Such a call fails. */
uint32_t stub_charge_product(struct stub_data *data, uint64_t thread, uint64_t count, uint64_t size,
			     uint64_t caller)
{
	uint64_t bytes;

	return __builtin_mul_overflow(count, size, &bytes)
		       ? 0
		       : stub_charge(data, thread, bytes, caller);
}

/*
 * The set of sampled blocks. An address may be in one of two lines. It is added before anybody
 * knows the block, and removed by the one thread that releases it, so nobody else looks for it
 * meanwhile.
 */

static uint8_t *filter_of(struct stub_data *data, uint64_t block)
{
	return (uint8_t *)data + STUB_FILTER_AT +
	       ((uint32_t)block * STUB_HASH >> (32 - STUB_FILTER_BITS));
}

static struct stub_line *line_of(struct stub_data *data, uint64_t block, int second)
{
	uint64_t hash = block * (second ? 0xd1342543de82ef95ULL : 0x9e3779b97f4a7c15ULL);
	struct stub_line *lines = (struct stub_line *)((char *)data + STUB_SET_AT);

	return &lines[hash >> 32 & (data->line_count - 1)];
}

static int replace_in(struct stub_line *line, uint64_t from, uint64_t to)
{
	for (int i = 0; i < STUB_LINE_BLOCKS; i++) {
		uint64_t expected = from;

		if (__atomic_load_n(&line->blocks[i], __ATOMIC_RELAXED) == from &&
		    __atomic_compare_exchange_n(&line->blocks[i], &expected, to, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return 1;
	}
	return 0;
}

/* `block` selects the lines. */
static int replace(struct stub_data *data, uint64_t block, uint64_t from, uint64_t to)
{
	return replace_in(line_of(data, block, 0), from, to) ||
	       replace_in(line_of(data, block, 1), from, to);
}

#define FILTER_FULL 255 /* stays: nobody knows how many there are */

/* Counts blocks with this hash: up (1) or down (-1). */
static void count_in_filter(uint8_t *counter, int change)
{
	uint8_t count = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (count != FILTER_FULL &&
	       !__atomic_compare_exchange_n(counter, &count, (uint8_t)(count + change), 0,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
}

static int add(struct stub_data *data, uint64_t block)
{
	uint8_t *counter = filter_of(data, block);

	if (!data->line_count)
		return 0; /* wiped by a fork in the middle of the call */
	count_in_filter(counter, 1);
	if (replace(data, block, 0, block))
		return 1;
	count_in_filter(counter, -1);
	__atomic_fetch_add(&data->missed, 1, __ATOMIC_RELAXED);
	return 0;
}

static int drop(struct stub_data *data, uint64_t block, uint64_t marked)
{
	if (!data->line_count || !replace(data, block, marked, 0))
		return 0;
	count_in_filter(filter_of(data, block), -1);
	return 1;
}

/* A sampled call has returned a block, or 0 if it failed. Returns 1 if it is to be reported. */
uint32_t stub_keep(struct stub_data *data, uint64_t block)
{
	return !block || add(data, block);
}

/* Before a free. Returns 1 if the block was sampled. */
uint32_t stub_forget(struct stub_data *data, uint64_t block)
{
	return block && drop(data, block, block);
}

#define RELEASING(block) ((block) | 1)

/*
 * Before a realloc: returns a verdict (STUB_OLD_SAMPLED). The old block stays in the set, marked:
 * another thread may get its address before the realloc returns, and a realloc that fails keeps it.
 */
uint32_t stub_begin(struct stub_data *data, uint64_t thread, uint64_t old, uint64_t bytes,
		    uint64_t caller)
{
	uint32_t sample = stub_charge(data, thread, bytes, caller);
	int old_sampled = old && data->line_count && *filter_of(data, old) &&
			  replace(data, old, old, RELEASING(old));

	if (!sample && !old_sampled)
		return 0;
	return (sample ? sample : SAMPLE_NOT) | (old_sampled ? STUB_OLD_SAMPLED : 0);
}

/* After it. Returns the sample to report. */
uint32_t stub_end(struct stub_data *data, uint32_t verdict, uint64_t old, uint64_t bytes,
		  uint64_t block)
{
	uint32_t sample = STUB_SAMPLE(verdict);
	int failed = !block && bytes;

	if (verdict & STUB_OLD_SAMPLED) {
		if (failed)
			replace(data, old, RELEASING(old), old);
		else
			drop(data, old, RELEASING(old));
	}
	if (sample != SAMPLE_NOT && block && !add(data, block))
		return SAMPLE_NOT;
	return sample;
}
