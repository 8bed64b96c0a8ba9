/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel fills the address space from above (mmap) and grows the heap and stacks in place. A
 * mapping that is in their way makes them fail: brk(2) returns ENOMEM, and a stack overflows. So
 * a stack keeps 8 GiB below it, and the heap 1 GiB above it, and less only if nothing else is in
 * reach.
 */
#include "gate/place/area.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "os/process/maps.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"

#define REACH          ((2048ULL - 1) << 20)
#define DISTANCE       (16 * GATE_PAGE) /* to other mappings */
#define MEMORY_ROOM    (64ULL << 20)    /* below anonymous memory */
#define STACK_ROOM     (8192ULL << 20)
#define HEAP_ROOM      (1024ULL << 20)
#define HEAP_ROOM_LAST (64ULL << 20)
#define FLOOR          65536ULL /* the default of vm.mmap_min_addr */
#define TOP            ((1ULL << 47) - GATE_PAGE)
#define FLOOR_FILE     "/proc/sys/vm/mmap_min_addr"
#define START_BRK      47 /* field of /proc/PID/stat (proc(5)) */

/* The search. */

struct area_candidate {
	uint64_t address;
	uint64_t distance; /* from the code */
	bool found;
};

static uint64_t plus(uint64_t address, uint64_t bytes)
{
	return address > UINT64_MAX - bytes ? UINT64_MAX : address + bytes;
}

static uint64_t minus(uint64_t address, uint64_t bytes)
{
	return address > bytes ? address - bytes : 0;
}

static uint64_t page_up(uint64_t address)
{
	return plus(address, GATE_PAGE - 1) & ~(GATE_PAGE - 1);
}

static uint64_t page_down(uint64_t address)
{
	return address & ~(GATE_PAGE - 1);
}

static uint64_t larger(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static uint64_t smaller(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static uint64_t gap_start(const struct area_range *before, uint64_t heap_room)
{
	return plus(before->end, before->use == AREA_HEAP ? heap_room : DISTANCE);
}

static uint64_t gap_end(const struct area_range *after)
{
	static const uint64_t rooms[] = {
		[AREA_OTHER] = DISTANCE,
		[AREA_HEAP] = DISTANCE,
		[AREA_STACK] = STACK_ROOM,
		[AREA_MEMORY] = MEMORY_ROOM,
	};

	return minus(after->start, rooms[after->use]);
}

/* Considers the free space from `start` to `end`. */
static void consider(struct area_candidate *best, const struct area_request *request,
		     uint64_t start, uint64_t end)
{
	uint64_t size = page_up(request->size), address, distance;

	start = page_up(larger(start, larger(request->floor, minus(request->high, REACH))));
	end = page_down(smaller(end, smaller(request->top, plus(request->low, REACH))));
	if (start >= end || end - start < size)
		return;
	address = start;
	if (start + size <= request->low)
		address = smaller(end, page_down(request->low)) - size;
	distance = address < request->low ? minus(request->low, address + size)
					  : minus(address, request->high);
	if (!best->found || distance < best->distance)
		*best = (struct area_candidate){address, distance, true};
}

static struct area_candidate search_gaps(const struct area_range *ranges, size_t count,
					 const struct area_request *request, uint64_t heap_room)
{
	struct area_candidate best = {0};
	uint64_t start = request->floor;

	for (size_t i = 0; i < count; i++) {
		consider(&best, request, start, gap_end(&ranges[i]));
		start = larger(start, gap_start(&ranges[i], heap_room));
	}
	consider(&best, request, start, request->top);
	return best;
}

int gate_area_search(const struct area_range *ranges, size_t count,
		     const struct area_request *request, uint64_t *ret_address)
{
	struct area_candidate best = {0};

	if (!request->size || request->low > request->high)
		return -ENOSPC;
	for (uint64_t room = HEAP_ROOM; !best.found && room >= HEAP_ROOM_LAST; room /= 2)
		best = search_gaps(ranges, count, request, room);
	if (!best.found)
		return -ENOSPC;
	*ret_address = best.address;
	return 0;
}

/* The process. */

struct area_ranges {
	struct area_range *items;
	size_t count;
	size_t capacity;
};

static enum area_use use_of(const struct proc_mapping *mapping)
{
	if (!strcmp(mapping->path, "[heap]"))
		return AREA_HEAP;
	if (!strncmp(mapping->path, "[stack", strlen("[stack")))
		return AREA_STACK;
	if (!mapping->inode && mapping->path[0] != '[' && mapping->writable)
		return AREA_MEMORY;
	return AREA_OTHER;
}

/* Returns where the heap begins, or 0 if that is unknown. A process that has not called brk(2) yet
 * has no mapping there. */
static uint64_t heap_start(pid_t pid)
{
	uint64_t start = 0;
	char *text, *at;
	size_t size;

	if (procfs_read(pid, "stat", &text, &size))
		return 0;
	at = strrchr(text, ')'); /* ends field 2 */
	for (int field = 2; at && field < START_BRK; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at, NULL, 10);
	free(text);
	return start;
}

static uint64_t lowest_address(void)
{
	FILE *file = fopen(FLOOR_FILE, "re");
	char line[32];
	uint64_t floor = 0;

	if (file && fgets(line, sizeof(line), file))
		floor = strtoull(line, NULL, 10);
	if (file)
		fclose(file);
	return larger(floor, FLOOR);
}

/* Adds the mappings, and the place of an empty heap. */
static int add_ranges(struct area_ranges *ranges, const struct proc_maps *maps, uint64_t heap)
{
	const struct area_range empty_heap = {page_down(heap), page_up(heap), AREA_HEAP};
	const struct proc_mapping *mapping;
	bool added = !heap;
	int err = 0;

	vec_each (mapping, maps) {
		const struct area_range range = {mapping->start, mapping->end, use_of(mapping)};

		added |= range.use == AREA_HEAP;
		if (!err && !added && range.start >= heap) {
			err = vec_push(ranges, empty_heap);
			added = true;
		}
		if (!err)
			err = vec_push(ranges, range);
	}
	return err || added ? err : vec_push(ranges, empty_heap);
}

int gate_area_find(pid_t pid, uint64_t low, uint64_t high, uint64_t size, uint64_t *ret_address)
{
	const struct area_request request = {low, high, size, lowest_address(), TOP};
	struct area_ranges ranges = {0};
	struct proc_maps maps = {0};
	pid_t thread = proc_living_thread(pid);
	int err = thread ? proc_maps_read(thread, &maps) : -ESRCH;

	if (!err)
		err = add_ranges(&ranges, &maps, heap_start(thread));
	if (!err)
		err = gate_area_search(ranges.items, ranges.count, &request, ret_address);
	vec_free(&ranges);
	proc_maps_free(&maps);
	return err;
}
