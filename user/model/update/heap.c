/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/update/heap.h"

#include <errno.h>
#include <stdlib.h>

#include "model/process/sanity_check.h"
#include "model/process/process.h"

static void note_peak(struct process *process)
{
	process->totals.peak_live_bytes = process->live_bytes;
	if (process->live_bytes <= process->peak.bytes + process->peak.bytes / 128)
		return;
	process->peak.number++;
	process->peak.bytes = process->live_bytes;
	process->peak.ns = process->now_ns;
}

static void count_sample(struct process *process, struct site *site, const struct weight *weight)
{
	site->samples++;
	weight_add(&process->totals.sampled, weight);
}

static int count_allocated(struct process *process, const struct block *block)
{
	struct weight weight;
	struct site *site;

	if (block->site == SITE_NONE) {
		process->unaccounted += process->paused;
		return 0;
	}
	site = process_site_change(process, block->site);
	if (!site)
		return -ENOMEM;
	weight = weight_of(process->config, block);
	if (block->sample)
		count_sample(process, site, &weight);
	site_allocated(site, weight.blocks, weight.bytes);
	process->totals.allocations += weight.blocks;
	process->totals.bytes_allocated += weight.bytes;
	process->totals.sizes[size_class(block->size)] += weight.blocks;
	process->live_blocks += weight.blocks;
	process->live_bytes += weight.bytes;
	if (process->live_bytes > process->totals.peak_live_bytes)
		note_peak(process);
	return 0;
}

static struct last_call *last_call_of(const struct process *process, uint32_t tid)
{
	return &process->last_calls[tid % LAST_CALLS];
}

/* If this runs out of memory, no block counts as temporary. */
static void note_last_call(struct process *process, const struct event *event)
{
	if (!process->last_calls)
		process->last_calls = calloc(LAST_CALLS, sizeof(*process->last_calls));
	if (process->last_calls)
		*last_call_of(process, event->tid) =
			(struct last_call){event->tid, event->call.address};
}

/* A block that realloc releases is not temporary: it lives on at another address. */
static bool is_temporary(const struct process *process, const struct event *event)
{
	const struct last_call *last;

	if (event->kind != EVENT_FREE || !process->last_calls || process_is_filtered(process))
		return false;
	last = last_call_of(process, event->tid);
	return last->tid == event->tid && last->address == event->call.address;
}

static void count_lifetime(const struct process *process, struct site *site,
			   const struct event *event, const struct block *block, uint64_t blocks)
{
	uint32_t now = process_time(process, event->time_ns);

	lifetimes_add(&site->lifetimes, now > block->time ? now - block->time : 0, blocks);
	site->lifetimes.temporary += is_temporary(process, event);
}

/* event: the event that freed the block; NULL if it was not seen. */
static int count_freed(struct process *process, const struct event *event,
		       const struct block *block)
{
	struct weight weight;
	struct site *site;

	if (block->site == SITE_NONE)
		return 0;
	site = process_site_change(process, block->site);
	if (!site)
		return -ENOMEM;
	weight = weight_of(process->config, block);
	if (event)
		count_lifetime(process, site, event, block, weight.blocks);
	site_freed(site, weight.blocks, weight.bytes);
	process->totals.frees += weight.blocks;
	process->totals.bytes_freed += weight.bytes;
	process->live_blocks -= weight.blocks;
	process->live_bytes -= weight.bytes;
	return 0;
}

static bool checks_sanity(const struct process *process)
{
	return process->config->sanity && !process->config->unprobing;
}

/* Handles a free of an address without a live block. With sampling or a size filter, that is
 * normal. */
static int count_unmatched(struct process *process, const struct event *event)
{
	if (process_is_filtered(process) || process->config->unprobing)
		return 0;
	if (map64_get(&process->ending, event->tid) != MAP64_NONE ||
	    mappings_in_allocator(&process->mappings, event->call.caller))
		process->internal_frees++;
	else if (checks_sanity(process))
		return sanity_bad_free(process, event);
	else
		process->found.unmatched_frees++;
	return 0;
}

static int count_released(struct process *process, const struct event *event,
			  const struct block *block)
{
	int err = count_freed(process, event, block);

	return err || !checks_sanity(process) ? err : sanity_released(process, event, block);
}

static uint32_t sample_of(const struct process *process, const struct event *event)
{
	return process_is_filtered(process) ? EVENT_SAMPLE(event->flags) : 0;
}

static int count_failed(struct process *process, const struct event *event)
{
	const struct block failed = {.size = event->call.size,
				     .sample = sample_of(process, event),
				     .time = process_time(process, event->time_ns)};
	uint64_t calls = weight_of(process->config, &failed).blocks;
	struct site *site;
	uint32_t index;
	int err = process_site(process, event, &index);

	if (err || index == SITE_NONE)
		return err;
	site = process_site_change(process, index);
	if (!site)
		return -ENOMEM;
	site->failed_allocations += calls;
	process->totals.failed_allocations += calls;
	return 0;
}

static int update_allocation(struct process *process, const struct event *event)
{
	struct block block = {.address = event->call.address,
			      .size = event->call.size,
			      .sample = sample_of(process, event),
			      .time = process_time(process, event->time_ns)};
	bool kept = weight_resample(process->config, &block, event->time_ns);
	struct block old;
	int known;

	if (kept && process_site(process, event, &block.site))
		return -ENOMEM;
	known = kept ? heap_put(&process->heap, &block, &old)
		     : heap_take(&process->heap, block.address, &old);
	if (known < 0)
		return known;
	sanity_handed_out(&process->sanity, block.address);
	if (known) {
		process->found.collisions++;
		if (count_freed(process, NULL, &old))
			return -ENOMEM;
	}
	note_last_call(process, event);
	return kept ? count_allocated(process, &block) : 0;
}

/* Some allocators' realloc frees the old block with the public free; the outcome of the realloc
 * decides about it. */
static bool is_within_realloc(const struct process *process, uint32_t tid)
{
	return pendings_has(&process->pendings, tid, API_REALLOC) ||
	       pendings_has(&process->pendings, tid, API_REALLOCARRAY);
}

int update_release(struct process *process, const struct event *event)
{
	struct block block;
	int taken;

	if (!event->call.address)
		return 0;
	taken = heap_take(&process->heap, event->call.address, &block);
	if (taken < 0)
		return taken;
	if (taken)
		return count_released(process, event, &block);
	if (event->flags & EVENT_FLAG_NESTED) {
		process->internal_frees++;
		return 0;
	}
	return is_within_realloc(process, event->tid) ? 0 : count_unmatched(process, event);
}

/* The first argument of every api of this family that has a begin is its old block, or 0. */
static int heap_begin(struct process *process, const struct event *event, struct pending *pending)
{
	uint64_t old = event->call.args[0];
	int taken = heap_take(&process->heap, old, &pending->block);

	if (taken < 0)
		return taken;
	pending->missed = old && !taken;
	pending->sample = sample_of(process, event);
	pending->old = old;
	pending->size = event->call.args[1];
	return 0;
}

/* Converts the end of a realloc to the free of its old block. `end` is the end event. */
static struct event release_of(const struct event *end, const struct pending *pending)
{
	struct event event = *end;

	event.tid = pending->tid;
	event.call.address = pending->old;
	event.call.caller = pending->caller;
	event.call.size = SIZE_UNKNOWN;
	return event;
}

/* An address without a block is an error, whatever the result of the call: the allocator may have
 * aborted the program because of it. */
static int check_missed(struct process *process, const struct pending *pending)
{
	struct event event = {.api = (enum api)pending->api, .time_ns = process->since_ns};

	if (!process->config->sanity || !pending->missed)
		return 0;
	event = release_of(&event, pending);
	return count_unmatched(process, &event);
}

static int heap_undo(struct process *process, const struct pending *pending)
{
	struct block taker;
	int known;

	if (!pending->block.address)
		return check_missed(process, pending);
	if (heap_find(&process->heap, pending->block.address))
		return count_freed(process, NULL, &pending->block);
	known = heap_put(&process->heap, &pending->block, &taker);
	if (known < 0)
		(void)count_freed(process, NULL,
				  &pending->block); /* or totals and table would disagree */
	return known;
}

static int old_block_freed(struct process *process, const struct event *end,
			   const struct pending *pending)
{
	struct event event = release_of(end, pending);

	if (pending->block.address)
		return count_released(process, &event, &pending->block);
	return pending->missed ? count_unmatched(process, &event) : 0;
}

/* Adds what a call that returns through a pointer (posix_memalign) reports only at its
 * beginning. */
static struct event with_beginning(const struct event *end, const struct pending *pending)
{
	struct event event = *end;

	if (!pending || api_row(event.api)->out < 0)
		return event;
	event.call.size = pending->size;
	event.flags |= RECORD_FLAG_SAMPLE(pending->sample);
	return event;
}

/* Returns true if the call creates no block that is recorded. */
static bool makes_none(const struct process *process, const struct event *event,
		       const struct pending *pending)
{
	if (!process_is_filtered(process))
		return false;
	/* It was recorded, but without its begin the weight is unknown. */
	if (!pending && api_row(event->api)->out >= 0)
		return true;
	return EVENT_SAMPLE(event->flags) == SAMPLE_NOT;
}

static int heap_end(struct process *process, const struct event *end, const struct pending *pending)
{
	struct event sized = with_beginning(end, pending), *event = &sized;
	bool failed = event->flags & EVENT_FLAG_FAILED || !event->call.address;
	bool none = makes_none(process, event, pending);
	int err;

	if (failed && event->call.size) {
		err = pending ? heap_undo(process, pending) : 0;
		return err || none ? err : count_failed(process, event);
	}
	if (pending && old_block_freed(process, event, pending))
		return -ENOMEM;
	return failed || none ? 0 : update_allocation(process, event);
}

const struct update_ops update_heap = {.begin = heap_begin, .end = heap_end, .undo = heap_undo};
