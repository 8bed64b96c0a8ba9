/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A site: the totals of one api called from one stack. */
#ifndef MTRACE_MODEL_SITE_SITE_H
#define MTRACE_MODEL_SITE_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "model/block/lifetime.h"

/*
 * No site: the api is not in the recorded set. Its blocks and regions are still tracked, so that
 * their frees are recognized.
 */
#define SITE_NONE UINT32_MAX

struct site {
	uint8_t api;             /* enum api, as recorded */
	uint8_t allocator_kind;  /* enum (model/process/sanity.h); _UNKNOWN without --sanity */
	uint32_t stack;          /* index of its stack in the process */
	uint32_t next;           /* the next site of this stack, or SITE_NONE */
	uint32_t process_number; /* number of the process that wrote it last: see process_site_view
				  */
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes_allocated;
	uint64_t inherited_blocks; /* live when the process started */
	uint64_t inherited_bytes;
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t peak_live_bytes;
	uint64_t failed_allocations;
	uint64_t samples;    /* with sampling: recorded allocations, which stand for all */
	uint64_t mismatched; /* releases that did not match the allocation (process/sanity.h) */
	uint64_t bad_frees;  /* double frees of its blocks */
	uint64_t first_seen_ns;
	uint64_t at_peak_bytes;     /* see process_at_peak */
	uint32_t peak;              /* number of that peak */
	uint32_t tick;              /* of the latest change (series.h) */
	struct lifetimes lifetimes; /* of freed blocks */
};

/* Converts a site to the state in which a child inherits it: the child has not allocated its live
 * blocks. */
static inline void site_inherit(struct site *site)
{
	site->allocations = site->frees = site->bytes_allocated = site->failed_allocations = 0;
	site->mismatched = site->bad_frees = site->samples = 0;
	site->lifetimes = (struct lifetimes){0};
	site->peak = site->tick = 0;
	site->inherited_blocks = site->live_blocks;
	site->inherited_bytes = site->peak_live_bytes = site->live_bytes;
}

/* With sampling, one sample stands for several blocks. */
static inline void site_allocated(struct site *site, uint64_t blocks, uint64_t bytes)
{
	site->allocations += blocks;
	site->bytes_allocated += bytes;
	site->live_blocks += blocks;
	site->live_bytes += bytes;
	if (site->live_bytes > site->peak_live_bytes)
		site->peak_live_bytes = site->live_bytes;
}

/* `blocks` is 0 if only a part of a region is gone. */
static inline void site_freed(struct site *site, uint64_t blocks, uint64_t bytes)
{
	site->live_bytes -= bytes;
	site->live_blocks -= blocks;
	site->frees += blocks;
}

#endif
