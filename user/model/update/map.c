/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * munmap, mremap and fixed mmap remove their range from the regions when they begin, because the
 * kernel may give it to another thread before they return. All totals include it until they end.
 */
#include "model/update/map.h"

#include <errno.h>

#include "model/process/process.h"

/* Flags of the target; they are the same on all supported architectures. */
#define TARGET_MAP_FIXED           0x10
#define TARGET_MAP_FIXED_NOREPLACE 0x100000
#define TARGET_MREMAP_FIXED        2
#define TARGET_MREMAP_DONTUNMAP    4

/* Returns the end of a range, rounded up to whole pages, without overflow for any arguments. */
static uint64_t range_end(const struct process *process, uint64_t start, uint64_t length)
{
	uint64_t in_page = process->config->page_size - 1, end;

	if (__builtin_add_overflow(length, in_page, &end))
		end = UINT64_MAX;
	end &= ~in_page;
	return __builtin_add_overflow(start, end, &end) ? UINT64_MAX : end;
}

static bool is_of_program(const struct site *site)
{
	return site->api != API_MMAP_LIBC;
}

static int count_mapped(struct process *process, uint32_t index, uint64_t bytes)
{
	struct site *site;

	if (index == SITE_NONE) {
		process->unaccounted += process->paused;
		return 0;
	}
	site = process_site_change(process, index);
	if (!site)
		return -ENOMEM;
	site_allocated(site, 1, bytes);
	if (is_of_program(site)) {
		process->maps++;
		process->map_bytes += bytes;
	}
	return 0;
}

struct unmapping {
	struct process *process;
	int err;
};

/* A region_gone. */
static void count_unmapped(void *ctx, uint32_t index, uint64_t bytes, bool last)
{
	struct unmapping *unmapping = ctx;
	struct process *process = unmapping->process;
	struct site *site;

	if (index == SITE_NONE)
		return;
	site = process_site_change(process, index);
	if (!site) {
		unmapping->err = -ENOMEM;
		return;
	}
	site_freed(site, last, bytes);
	if (is_of_program(site)) {
		process->maps -= last;
		process->map_bytes -= bytes;
	}
}

static int release(struct process *process, uint32_t pieces)
{
	struct unmapping unmapping = {.process = process};

	regions_release(&process->regions, pieces, count_unmapped, &unmapping);
	return unmapping.err;
}

static int cut(struct process *process, uint64_t start, uint64_t length, uint32_t *pieces)
{
	return regions_cut(&process->regions, start, range_end(process, start, length), pieces);
}

static int mmap_begin(struct process *process, const uint64_t *args, struct pending *pending)
{
	if (!(args[2] & TARGET_MAP_FIXED) || args[2] & TARGET_MAP_FIXED_NOREPLACE)
		return 0;
	return cut(process, args[0], args[1], &pending->pieces);
}

static int munmap_begin(struct process *process, const uint64_t *args, struct pending *pending)
{
	int err = cut(process, args[0], args[1], &pending->pieces);

	pending->missed = !pending->pieces;
	return err;
}

/* If the old length is 0, mremap maps shared memory a second time. */
static int mremap_begin(struct process *process, const uint64_t *args, struct pending *pending)
{
	int err = 0;

	if (args[1] && !(args[3] & TARGET_MREMAP_DONTUNMAP))
		err = munmap_begin(process, args, pending);
	if (!err && args[3] & TARGET_MREMAP_FIXED)
		err = cut(process, args[4], args[2], &pending->pieces);
	return err;
}

typedef int begin_function(struct process *process, const uint64_t *args, struct pending *pending);

static begin_function *const begin_functions[API_COUNT] = {
	[API_MMAP] = mmap_begin,
	[API_MUNMAP] = munmap_begin,
	[API_MREMAP] = mremap_begin,
};

static int map_undo(struct process *process, const struct pending *pending)
{
	struct unmapping unmapping = {.process = process};
	int err = regions_restore(&process->regions, pending->pieces, count_unmapped, &unmapping);

	return err ? err : unmapping.err;
}

static int map_begin(struct process *process, const struct event *event, struct pending *pending)
{
	begin_function *begin = begin_functions[event->api];
	int err = begin ? begin(process, event->call.args, pending) : 0;

	if (err)
		(void)map_undo(process, pending);
	return err;
}

static int count_failed(struct process *process, const struct event *event)
{
	struct site *site;
	uint32_t index;

	if (!api_allocates(event->api) || !event->call.size)
		return 0;
	if (process_site(process, event, &index))
		return -ENOMEM;
	if (index == SITE_NONE)
		return 0;
	site = process_site_change(process, index);
	if (!site)
		return -ENOMEM;
	site->failed_allocations++;
	return 0;
}

/*
 * If not every heap call is recorded, a mapping made by an allocator may serve a call that is not.
 * Then it belongs neither to the program nor to a block.
 */
static bool is_unknown_allocators(const struct process *process, const struct event *event)
{
	return process_is_filtered(process) &&
	       mappings_in_allocator(&process->mappings, event->call.caller);
}

static int release_range(struct process *process, uint64_t start, uint64_t end)
{
	uint32_t replaced = PIECE_NONE;
	int err = regions_cut(&process->regions, start, end, &replaced);

	return err ? err : release(process, replaced);
}

/* Adds a new region, which replaces whatever was there. */
static int update_mapping(struct process *process, const struct event *event)
{
	uint64_t start = event->call.address;
	uint64_t end = range_end(process, start, event->call.size);
	uint32_t replaced = PIECE_NONE, site;

	if (start >= end)
		return 0;
	if (is_unknown_allocators(process, event))
		return release_range(process, start, end);
	if (process_site(process, event, &site) ||
	    regions_cut(&process->regions, start, end, &replaced) || release(process, replaced))
		return -ENOMEM;
	if (regions_add(&process->regions, start, end, site, process_time(process, event->time_ns)))
		return -ENOMEM;
	return count_mapped(process, site, end - start);
}

static int map_end(struct process *process, const struct event *event,
		   const struct pending *pending)
{
	if (event->flags & EVENT_FLAG_FAILED) {
		int err = pending ? map_undo(process, pending) : 0;

		return err ? err : count_failed(process, event);
	}
	if (pending && release(process, pending->pieces))
		return -ENOMEM;
	if (pending)
		process->internal_munmaps += pending->missed;
	return api_allocates(event->api) ? update_mapping(process, event) : 0;
}

const struct update_ops update_map = {.begin = map_begin, .end = map_end, .undo = map_undo};
