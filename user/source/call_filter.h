/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which heap calls to report (bpf/call_filter.bpf.h): the user's settings. */
#ifndef MTRACE_SOURCE_CALL_FILTER_H
#define MTRACE_SOURCE_CALL_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "bpf/sample.h"

/* Zeroed: report all of them. */
struct call_filter {
	uint64_t sample;   /* mean bytes per sample; 0: no sampling */
	bool all_at_first; /* report all until source_ops.draw() starts sampling */
	uint64_t min_size; /* requested bytes */
	uint64_t max_size; /* 0: no limit */
};

static inline bool call_filter_is_on(const struct call_filter *call_filter)
{
	return call_filter->sample || call_filter->min_size || call_filter->max_size;
}

/* The sample at the start of a trace, as in records. */
static inline uint32_t call_filter_samples_at_first(const struct call_filter *call_filter)
{
	return call_filter->sample && !call_filter->all_at_first;
}

/* Returns COOKIE_FLAG_LEAF at its place in the cookie if the function is a leaf, otherwise 0. */
struct module;
struct probe_plan;
uint64_t call_filter_leaf_flag(const struct module *module, const struct probe_plan *plan,
			       enum api api);

static inline uint64_t call_filter_max_size(const struct call_filter *call_filter)
{
	return call_filter->max_size ? call_filter->max_size : UINT64_MAX;
}

#endif
