// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/update/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/process/process.h"
#include "model/process/state.h"

/* Time stamps come from a coarse clock: 10 ms at CONFIG_HZ=100. */
#define CLOCK_STEP_NS (20 * 1000000ULL)

static bool is_of_program(const struct process *process, const struct region *region)
{
	return region->site != SITE_NONE &&
	       process_site_at(process, region->site)->api != API_MMAP_LIBC;
}

/* Returns the region if it belongs to the program and consists only of this piece; otherwise
 * NULL. */
static const struct region *whole_region(const struct process *process, const struct piece *piece)
{
	const struct region *region = &process->regions.regions.items[piece->region];

	return is_of_program(process, region) && region->bytes == piece->end - piece->start ? region
											    : NULL;
}

/* By region: whether it contains blocks. */
struct arenas {
	const struct process *process;
	bool *is_arena;
};

static void note_arena(void *ctx, const struct block *block)
{
	struct arenas *arenas = ctx;
	const struct piece *piece = regions_at(&arenas->process->regions, block->address);

	if (piece && piece->start <= block->address)
		arenas->is_arena[piece->region] = true;
}

static int find_arenas(const struct process *process, struct arenas *ret_arenas)
{
	size_t count = process->regions.regions.count;

	*ret_arenas = (struct arenas){.process = process};
	if (!count)
		return 0;
	ret_arenas->is_arena = calloc(count, sizeof(*ret_arenas->is_arena));
	if (!ret_arenas->is_arena)
		return -ENOMEM;
	heap_visit(&process->heap, note_arena, ret_arenas);
	return 0;
}

static int take_regions(const struct process *process,
			int (*take)(void *ctx, uint64_t address, uint64_t size), void *ctx)
{
	const struct piece *piece = regions_at(&process->regions, 0);
	struct arenas arenas;
	int err = piece ? find_arenas(process, &arenas) : 0;

	if (!piece || err)
		return err;
	for (; piece && !err; piece = regions_at(&process->regions, piece->end))
		if (whole_region(process, piece) && !arenas.is_arena[piece->region])
			err = take(ctx, piece->start, piece->end - piece->start);
	free(arenas.is_arena);
	return err;
}

struct taker {
	int (*take)(void *ctx, uint64_t address, uint64_t size);
	void *ctx;
	int err;
};

static void take_block(void *ctx, const struct block *block)
{
	struct taker *taker = ctx;

	if (!taker->err)
		taker->err = taker->take(taker->ctx, block->address, block->size);
}

size_t scan_update_count(const struct process *process)
{
	return process->heap.count + process->regions.regions.count;
}

int scan_update_blocks(const struct process *process,
		       int (*take)(void *ctx, uint64_t address, uint64_t size), void *ctx)
{
	struct taker taker = {.take = take, .ctx = ctx};

	heap_visit(&process->heap, take_block, &taker);
	return taker.err ? taker.err : take_regions(process, take, ctx);
}

/* Finds the live block or region at an address. Returns false if there is none. */
static bool find_block(const struct process *process, uint64_t address, struct block *ret_block)
{
	const struct block *block = heap_find(&process->heap, address);
	const struct region *region;
	const struct piece *piece;

	if (block) {
		*ret_block = *block;
		return true;
	}
	piece = regions_at(&process->regions, address);
	region = piece && piece->start == address ? whole_region(process, piece) : NULL;
	if (!region)
		return false;
	*ret_block = (struct block){.address = address,
				    .size = region->bytes,
				    .site = region->site,
				    .time = region->time};
	return true;
}

uint64_t scan_update_stamp(const struct process *process, uint64_t address, uint64_t until_ns)
{
	uint64_t limit_ns = until_ns > CLOCK_STEP_NS ? until_ns - CLOCK_STEP_NS : 0;
	struct block block;

	if (!find_block(process, address, &block) || block.time > process_time(process, limit_ns))
		return 0;
	return ((uint64_t)block.time << 32 | block.site) + 1;
}

bool scan_update_is_complete(const struct process *process)
{
	const struct pending *pending;

	vec_each (pending, &process->pendings.items)
		if (pending->block.address)
			return false;
	return process_is_complete(process);
}

bool scan_update_is_vfork_child(const struct process *process, uint32_t pid)
{
	return process_pid(process) != pid;
}

uint32_t scan_update_allocator(const struct process *process)
{
	uint32_t module = MODULE_NONE;
	const uint32_t *index;

	vec_each (index, &process->mappings.present) {
		const struct mapping *mapping = &process->mappings.history.items[*index];

		if (!(mapping->flags & MAPPING_FLAG_ALLOCATOR) || mapping->module == module)
			continue;
		if (module != MODULE_NONE)
			return MODULE_NONE;
		module = mapping->module;
	}
	return module;
}

int scan_update_open(struct scan_update *ret_account, const struct process *process)
{
	struct scan_update update = {.process = process, .count = process->sites.count};

	update.leaks = calloc(update.count + 1, sizeof(*update.leaks));
	if (!update.leaks)
		return -ENOMEM;
	*ret_account = update;
	return 0;
}

static void sum_add(struct snapshot_sum *sum, const struct weight *weight)
{
	sum->blocks += weight->blocks;
	sum->bytes += weight->bytes;
}

static void note_definite(struct snapshot_leaks *leaks, uint64_t ns)
{
	if (!leaks->oldest_ns || ns < leaks->oldest_ns)
		leaks->oldest_ns = ns;
	if (ns > leaks->youngest_ns)
		leaks->youngest_ns = ns;
}

static void note_example(struct snapshot_example *example, const struct block *block)
{
	if (example->address && block->size <= example->size)
		return;
	example->address = block->address;
	example->size = block->size;
}

void scan_update_add(struct scan_update *update, uint64_t address, enum leak_class leak)
{
	struct snapshot_leaks *leaks;
	struct weight weight;
	struct block block;

	if (!find_block(update->process, address, &block) || block.site >= update->count)
		return;
	leaks = &update->leaks[block.site];
	weight = weight_of(update->process->config, &block);
	sum_add(&leaks->classes[leak], &weight);
	sum_add(&update->scan.classes[leak], &weight);
	if (leak == LEAK_DEFINITE)
		note_definite(leaks, process_block_ns(update->process, block.site, block.time));
	if (leak != LEAK_REACHABLE)
		note_example(&leaks->examples[leak], &block);
}

void scan_update_commit(struct scan_update *update, struct process *process)
{
	free(process->leaks);
	free(process->scan_reason);
	process->scan_reason = NULL;
	process->scan = update->scan;
	process->scan.done = true;
	process->scan.reason = NULL;
	process->leaks = update->leaks;
	process->leak_count = update->count;
	update->leaks = NULL;
}

void scan_update_free(struct scan_update *update)
{
	free(update->leaks);
	update->leaks = NULL;
}

int scan_update_fail(struct process *process, const char *reason)
{
	char *copy = strdup(reason);

	if (!copy)
		return -ENOMEM;
	free(process->scan_reason);
	process->scan_reason = copy;
	return 0;
}
