/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which heap calls to report (bpf/alloc_filter.bpf.h): the user's settings. */
#ifndef MTRACE_SOURCE_ALLOC_FILTER_H
#define MTRACE_SOURCE_ALLOC_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "bpf/sample.h"

/* Zeroed: report all of them. */
struct alloc_filter {
	uint64_t sample;   /* mean bytes per sample; 0: no sampling */
	bool all_at_first; /* report all until source_ops.draw() starts sampling */
	uint64_t min_size; /* requested bytes */
	uint64_t max_size; /* 0: no limit */
};

static inline bool alloc_filter_is_on(const struct alloc_filter *alloc_filter)
{
	return alloc_filter->sample || alloc_filter->min_size || alloc_filter->max_size;
}

/* The sample at the start of a trace, as in records. */
static inline uint32_t alloc_filter_samples_at_first(const struct alloc_filter *alloc_filter)
{
	return alloc_filter->sample && !alloc_filter->all_at_first;
}

/* Returns COOKIE_FLAG_LEAF at its place in the cookie if the function is a leaf, otherwise 0. */
struct module;
struct probe_plan;
uint64_t alloc_filter_leaf_flag(const struct module *module, const struct probe_plan *plan,
				enum api api);

static inline uint64_t alloc_filter_max_size(const struct alloc_filter *alloc_filter)
{
	return alloc_filter->max_size ? alloc_filter->max_size : UINT64_MAX;
}

#endif
