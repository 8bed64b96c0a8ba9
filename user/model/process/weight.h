/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The weight of a sampled block: the reciprocal of the probability that it was sampled
 * (bpf/sample.h), in blocks and bytes. Weights are integers, so that sums are exact. They are
 * rounded up or down at random, in proportion to the fraction, so that sums do not drift. The
 * random number is derived from the data of the block, so that its free has the same weight as its
 * allocation.
 *
 * The error of a sum follows from the sum of the variances of its samples (Horvitz and Thompson,
 * 1952): for a block of amount y that is sampled with probability p, it is estimated as (1 - p) (y
 * / p)^2.
 */
#ifndef MTRACE_MODEL_PROCESS_WEIGHT_H
#define MTRACE_MODEL_PROCESS_WEIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/block/heap.h"

struct model_config;
struct snapshot_bounds;

struct weight {
	uint64_t blocks;
	uint64_t bytes;
	double blocks_variance;
	double bytes_variance;
	uint32_t sample; /* as in records */
};

/* A number of samples, and the variance of estimates from them. */
struct weight_sum {
	uint64_t samples;
	uint64_t most;        /* largest number of blocks that a sample stands for */
	uint32_t first, last; /* smallest and largest mean, as in records; 0: none */
	double blocks_variance;
	double bytes_variance;
};

static inline void weight_add(struct weight_sum *sum, const struct weight *weight)
{
	sum->samples++;
	sum->most = weight->blocks > sum->most ? weight->blocks : sum->most;
	sum->first = sum->first && sum->first < weight->sample ? sum->first : weight->sample;
	sum->last = weight->sample > sum->last ? weight->sample : sum->last;
	sum->blocks_variance += weight->blocks_variance;
	sum->bytes_variance += weight->bytes_variance;
}

/* weight_of returns one block and its bytes if the block was certain to be recorded. weight_live
 * sums up the samples that are live. */
struct weight weight_of(const struct model_config *config, const struct block *block);

/*
 * With limit_sample: decides whether a new block is kept, and sets its mean. The decision follows
 * from the block and the time, so it needs no state. Returns false if the block is not kept.
 */
bool weight_resample(const struct model_config *config, struct block *block, uint64_t time_ns);

/* Returns the mean, in bytes, at which a block was sampled; `sample` as in records, not 0. */
uint64_t weight_mean(const struct model_config *config, uint32_t sample);

struct weight_sum weight_live(const struct model_config *config, const struct heap *heap);

/*
 * Returns a confidence interval for an estimate. `unit` is about the most that one sample can stand
 * for: blocks that were never sampled have no variance, but there may be some (the upper bound is
 * Wilson's interval for such samples).
 */
struct snapshot_bounds weight_bounds(uint64_t estimate, double variance, double unit);

#endif
