// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Restarts the counts of a running process. Live blocks are kept, but only their addresses:
 * otherwise their frees would look like frees of unallocated memory, and a leak scan would not know
 * the blocks that pointers lead through. Takes time in proportion to the number of live blocks.
 */
#include "model/process/reset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/process/series.h"

struct rebuild {
	struct heap heap;
	int err;
};

static void keep_block(void *ctx, const struct block *block)
{
	struct rebuild *rebuild = ctx;
	struct block nameless = *block, old;
	int code;

	nameless.site = SITE_NONE;
	code = rebuild->err ? 0 : heap_put(&rebuild->heap, &nameless, &old);
	if (code < 0)
		rebuild->err = code;
}

static int forget_stacks(struct process *process)
{
	for (uint32_t i = 0; i < process->stacks.items.count; i++) {
		struct stack *stack;

		if (stack_at(&process->stacks, i)->site == SITE_NONE)
			continue;
		stack = stack_change(&process->stacks, i);
		if (!stack)
			return -ENOMEM;
		stack->site = SITE_NONE;
	}
	return 0;
}

static void forget_sites_of_blocks(struct process *process)
{
	struct pending *pending;
	struct region *region;
	struct freed *freed;

	vec_each (region, &process->regions.regions)
		region->site = SITE_NONE;
	vec_each (pending, &process->pendings.items)
		pending->block.site = SITE_NONE;
	vec_each (freed, &process->sanity.freed)
		freed->site = SITE_NONE;
}

static void forget_errors(struct sanity *sanity)
{
	vec_free(&sanity->errors);
	map64_free(&sanity->by_place);
	sanity->more = 0;
}

static void forget_scan(struct process *process)
{
	free(process->leaks);
	process->leaks = NULL;
	process->leak_count = 0;
	process->scan = (struct snapshot_scan){0};
}

static void forget_totals(struct process *process)
{
	process->totals = (struct totals){0};
	process->inherited = (struct snapshot_sum){0};
	process->live_blocks = process->live_bytes = 0;
	process->maps = process->map_bytes = 0;
	process->internal_frees = process->internal_munmaps = 0;
	process->unaccounted = 0;
}

int process_reset(struct process *process, uint64_t now_ns)
{
	struct rebuild rebuild = {0};
	int err;

	heap_visit(&process->heap, keep_block, &rebuild);
	err = rebuild.err ? rebuild.err : forget_stacks(process);
	if (err) {
		heap_free(&rebuild.heap);
		return err;
	}
	heap_free(&process->heap);
	process->heap = rebuild.heap;
	forget_sites_of_blocks(process);
	forget_errors(&process->sanity);
	forget_scan(process);
	forget_totals(process);
	cow_free(&process->sites);
	process->sites = (struct cow_array){0};
	process_free_series(process);
	process->since_ns = process->tick_end_ns = process->peak.ns = now_ns;
	process->tick = 0;
	process->peak.number = 1;
	process->peak.bytes = 0;
	return 0;
}
