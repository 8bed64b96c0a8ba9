/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/process/weight.h"

#include <math.h>

#include "base/map64.h"
#include "bpf/sample.h"
#include "model/config.h"
#include "model/site/site.h"
#include "model/sums.h"

#define LIMIT_MEAN 4096     /* bytes: the first mean if all calls are recorded */
#define DEVIATIONS 1.959964 /* standard deviations of the normal distribution that contain 95% */
#define ONE_BITS   64       /* a probability of 1 is represented as 2^64 */
#define UNIT_BITS  53       /* precision of a double */

/* Returns a number from 0 to 1 that is always the same for the same block; `which` selects one of
 * several. */
static double drawn_for(const struct block *block, uint64_t which)
{
	uint64_t word = hash_u64(block->address ^ hash_u64((uint64_t)block->time << 8 | which));

	return ldexp((double)(word >> (64 - UNIT_BITS)), -UNIT_BITS);
}

static uint64_t rounded(double amount, double drawn)
{
	return (uint64_t)floor(amount + drawn);
}

/* Returns the variance that this kind of rounding adds. */
static double rounding(double amount)
{
	double part = amount - floor(amount);

	return part * (1 - part);
}

uint64_t weight_mean(const struct model_config *config, uint32_t sample)
{
	return sample_mean_at(config->sample ? config->sample : LIMIT_MEAN, sample - 1);
}

/* Returns the probability that the block was sampled, in units of 2^-64. */
static uint64_t chance_of(const struct model_config *config, const struct block *block)
{
	struct sample_rate rate;

	if (!block->sample || block->sample > SAMPLE_LEVELS)
		return SAMPLE_ALWAYS;
	rate = sample_rate_of(weight_mean(config, block->sample));
	return sample_chance(&rate, block->size);
}

bool weight_resample(const struct model_config *config, struct block *block, uint64_t time_ns)
{
	double before = (double)chance_of(config, block);
	uint64_t random = hash_u64(block->address ^ hash_u64(time_ns)), after;

	if (block->sample >= config->limit_sample)
		return true;
	block->sample = (uint8_t)config->limit_sample;
	after = chance_of(config, block);
	return after == SAMPLE_ALWAYS || (double)random < (double)after / before * 0x1p64;
}

struct weight weight_of(const struct model_config *config, const struct block *block)
{
	double chance, count, bytes;
	uint64_t units = chance_of(config, block);

	if (units == SAMPLE_ALWAYS)
		return (struct weight){.blocks = 1, .bytes = block->size, .sample = block->sample};
	chance = ldexp((double)units, -ONE_BITS);
	count = 1 / chance;
	bytes = (double)block->size / chance;
	return (struct weight){
		.blocks = rounded(count, drawn_for(block, 0)),
		.bytes = rounded(bytes, drawn_for(block, 1)),
		.blocks_variance = (1 - chance) * count * count + rounding(count),
		.bytes_variance = (1 - chance) * bytes * bytes + rounding(bytes),
		.sample = block->sample,
	};
}

struct living {
	const struct model_config *config;
	struct weight_sum sum;
};

static void add_living(void *ctx, const struct block *block)
{
	struct living *living = ctx;
	struct weight weight;

	if (!block->sample || block->site == SITE_NONE)
		return;
	weight = weight_of(living->config, block);
	weight_add(&living->sum, &weight);
}

struct weight_sum weight_live(const struct model_config *config, const struct heap *heap)
{
	struct living living = {.config = config};

	heap_visit(heap, add_living, &living);
	return living.sum;
}

struct snapshot_bounds weight_bounds(uint64_t estimate, double variance, double unit)
{
	double middle = (double)estimate, half = DEVIATIONS * unit / 2;
	double low = middle - DEVIATIONS * sqrt(variance);
	double high = middle + DEVIATIONS * (half + sqrt(variance + half * half));

	return (struct snapshot_bounds){
		.low = low > 0 ? (uint64_t)low : 0,
		.high = high < 0x1p63 ? (uint64_t)ceil(high) : UINT64_MAX,
	};
}
