/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much a sampled block stands for: the reciprocal of the chance by which it was told
 * (bpf/sample.h), in blocks and bytes. Whole numbers, so that sums agree to the unit: what is
 * behind the point is rounded by chance, up as often as it says, so that no sum drifts. The chance
 * is drawn from what the books keep of the block, so that it is freed as it was allocated.
 *
 * How far a sum may be off is the sum of the samples' variances (Horvitz and Thompson, 1952): that
 * of a block with chance p and amount y is estimated by (1 - p) (y / p)^2.
 */
#ifndef MTRACE_MODEL_PROCESS_WEIGHT_H
#define MTRACE_MODEL_PROCESS_WEIGHT_H

#include "model/block/heap.h"

struct model_config;
struct snapshot_bounds;

struct weight {
	uint64_t blocks;
	uint64_t bytes;
	double blocks_variance;
	double bytes_variance;
	uint32_t sample; /* as records have it */
};

/* Samples, and how far what is estimated from them may be off. */
struct weight_sum {
	uint64_t samples;
	uint64_t most;        /* blocks that one stands for */
	uint32_t first, last; /* the smallest and the largest mean, as records have it; 0: none */
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

/* Of a block that was told for certain, one block and its bytes. */
struct weight weight_of(const struct model_config *config, const struct block *block);

struct weight_sum weight_live(const struct model_config *config, const struct heap *heap);

/*
 * Where an estimate's truth lies. `unit` is what one sample stands for at most, about: what was not
 * met has no variance, but there may be some of it (above, Wilson's interval for such samples).
 */
struct snapshot_bounds weight_bounds(uint64_t estimate, double variance, double unit);

#endif
