/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/book.h"

#include <errno.h>

static void count_allocated(struct process *process, uint32_t index, uint64_t bytes)
{
	if (index == SITE_NONE)
		return;
	site_allocated(&process->sites.items[index], bytes);
	process->totals.allocations++;
	process->totals.bytes_allocated += bytes;
	process->live_blocks++;
	process->live_bytes += bytes;
	if (process->live_bytes > process->totals.peak_live_bytes)
		process->totals.peak_live_bytes = process->live_bytes;
}

static void count_freed(struct process *process, const struct block *block)
{
	if (block->site == SITE_NONE)
		return;
	site_freed(&process->sites.items[block->site], block->size, true);
	process->totals.frees++;
	process->totals.bytes_freed += block->size;
	process->live_blocks--;
	process->live_bytes -= block->size;
}

/* A free of an address where nothing lives. */
static void count_unmatched(struct process *process, uint32_t tid, uint64_t caller)
{
	if (map64_get(&process->ending, tid) != MAP64_NONE ||
	    mappings_in_allocator(&process->mappings, caller))
		process->internal_frees++;
	else
		process->found.unmatched_frees++;
}

static int count_failed(struct process *process, const struct event *event)
{
	uint32_t site;
	int err = process_site(process, event, &site);

	if (err || site == SITE_NONE)
		return err;
	process->sites.items[site].failed_allocations++;
	process->totals.failed_allocations++;
	return 0;
}

static int book_allocated(struct process *process, const struct event *event)
{
	struct block block = {.address = event->call.address,
			      .size = event->call.size,
			      .time = process_time(process, event->time_ns)};
	struct block old;
	int known;

	if (process_site(process, event, &block.site))
		return -ENOMEM;
	known = heap_put(&process->heap, &block, &old);
	if (known < 0)
		return known;
	if (known) {
		process->found.collisions++;
		count_freed(process, &old);
	}
	count_allocated(process, block.site, block.size);
	return 0;
}

/* Some allocators free the old block by the program's own free; its fate is the realloc's. */
static bool is_within_realloc(const struct process *process, uint32_t tid)
{
	return pendings_has(&process->pendings, tid, API_REALLOC) ||
	       pendings_has(&process->pendings, tid, API_REALLOCARRAY);
}

int book_free(struct process *process, const struct event *event)
{
	struct block block;

	if (!event->call.address)
		return 0;
	if (heap_take(&process->heap, event->call.address, &block))
		count_freed(process, &block);
	else if (!is_within_realloc(process, event->tid))
		count_unmatched(process, event->tid, event->call.caller);
	return 0;
}

/* Every api of the family that begins names its old block, or 0, in its first argument. */
static int heap_begin(struct process *process, const struct event *event, struct pending *pending)
{
	uint64_t old = event->call.args[0];

	pending->missed = old && !heap_take(&process->heap, old, &pending->block);
	pending->size = event->call.args[1];
	return 0;
}

static int heap_undo(struct process *process, const struct pending *pending)
{
	struct block taker;
	int known;

	if (!pending->block.address)
		return 0;
	if (heap_find(&process->heap, pending->block.address)) {
		count_freed(process, &pending->block);
		return 0;
	}
	known = heap_put(&process->heap, &pending->block, &taker);
	if (known < 0)
		count_freed(process, &pending->block); /* or totals and table would disagree */
	return known;
}

static void old_block_freed(struct process *process, const struct pending *pending)
{
	if (pending->block.address)
		count_freed(process, &pending->block);
	else if (pending->missed)
		count_unmatched(process, pending->tid, pending->caller);
}

/* Calls that return by a pointer (posix_memalign) told their size at the beginning only. */
static int heap_end(struct process *process, const struct event *told,
		    const struct pending *pending)
{
	struct event sized = *told, *event = &sized;
	bool failed = event->flags & EVENT_FLAG_FAILED || !event->call.address;
	int err;

	if (pending && api_row(event->api)->out >= 0)
		event->call.size = pending->size;
	if (failed && event->call.size) {
		err = pending ? heap_undo(process, pending) : 0;
		return err ? err : count_failed(process, event);
	}
	if (pending)
		old_block_freed(process, pending);
	return failed ? 0 : book_allocated(process, event);
}

const struct book book_heap = {.begin = heap_begin, .end = heap_end, .undo = heap_undo};
