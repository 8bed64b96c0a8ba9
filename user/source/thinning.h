/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which heap calls are told (bpf/thin.bpf.h), as the user wants it. */
#ifndef MTRACE_SOURCE_THINNING_H
#define MTRACE_SOURCE_THINNING_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "bpf/sample.h"

/* Zeroed: all of them. */
struct thinning {
	uint64_t sample;   /* one in so many bytes; 0: every one */
	bool all_at_first; /* until the source is told to draw by that */
	uint64_t min_size; /* bytes asked for */
	uint64_t max_size; /* 0: no limit */
};

static inline bool is_thinning(const struct thinning *thinning)
{
	return thinning->sample || thinning->min_size || thinning->max_size;
}

/* Which mean calls are drawn by when a trace begins, as records have it. */
static inline uint32_t thinning_at_first(const struct thinning *thinning)
{
	return thinning->sample && !thinning->all_at_first;
}

/* COOKIE_FLAG_LEAF in its place in the cookie, if the function is one. */
struct module;
struct probe_plan;
uint64_t thinning_leaf_flag(const struct module *module, const struct probe_plan *plan,
			    enum api api);

static inline uint64_t thinning_max_size(const struct thinning *thinning)
{
	return thinning->max_size ? thinning->max_size : UINT64_MAX;
}

#endif
