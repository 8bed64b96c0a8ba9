/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A site: the totals of one api called from one stack. */
#ifndef MTRACE_MODEL_SITE_SITE_H
#define MTRACE_MODEL_SITE_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "model/block/lifetime.h"

/*
 * No site: the api is not in the set that is booked. Its blocks and regions are remembered all the
 * same, so that their frees are known to be frees.
 */
#define SITE_NONE UINT32_MAX

struct site {
	uint8_t api;    /* enum api, as booked */
	uint8_t kin;    /* enum kin (model/process/sanity.h); KIN_UNKNOWN without --sanity */
	uint32_t stack; /* index in the process's stacks */
	uint32_t next;  /* the next site of this stack, or SITE_NONE */
	uint32_t books; /* which wrote it last: see process_site_view */
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes_allocated;
	uint64_t inherited_blocks; /* live when the process was born */
	uint64_t inherited_bytes;
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t peak_live_bytes;
	uint64_t failed_allocations;
	uint64_t samples;    /* with --sample: allocations that were told, for all of them */
	uint64_t mismatched; /* releases of its blocks by what does not go with it
				(model/process/sanity.h) */
	uint64_t bad_frees;  /* double frees of its blocks */
	uint64_t first_seen_ns;
	uint64_t at_peak_bytes;     /* see process_at_peak */
	uint32_t peak;              /* the peak of that */
	uint32_t tick;              /* in which it changed last (series.h) */
	struct lifetimes lifetimes; /* of blocks that were freed */
};

/* A site as a child has it when it is born: what lives has not been allocated by the child. */
static inline void site_inherit(struct site *site)
{
	site->allocations = site->frees = site->bytes_allocated = site->failed_allocations = 0;
	site->mismatched = site->bad_frees = site->samples = 0;
	site->lifetimes = (struct lifetimes){0};
	site->peak = site->tick = 0;
	site->inherited_blocks = site->live_blocks;
	site->inherited_bytes = site->peak_live_bytes = site->live_bytes;
}

/* So many blocks: with --sample, one stands for several. */
static inline void site_allocated(struct site *site, uint64_t blocks, uint64_t bytes)
{
	site->allocations += blocks;
	site->bytes_allocated += bytes;
	site->live_blocks += blocks;
	site->live_bytes += bytes;
	if (site->live_bytes > site->peak_live_bytes)
		site->peak_live_bytes = site->live_bytes;
}

/* Some bytes are gone, and with them so many blocks (of a region that is not gone whole, none). */
static inline void site_freed(struct site *site, uint64_t blocks, uint64_t bytes)
{
	site->live_bytes -= bytes;
	site->live_blocks -= blocks;
	site->frees += blocks;
}

#endif
