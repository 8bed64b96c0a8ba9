/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulated memory with blocks in it, to be scanned. */
#ifndef MTRACE_TESTS_SCAN_WORLD_H
#define MTRACE_TESTS_SCAN_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"

#define WORLD_AREAS 64
#define WORLD_HOLES 16
#define WORLD_PAGE  4096u

struct world {
	struct scan_range ranges[WORLD_AREAS]; /* sorted by the test */
	unsigned char *bytes[WORLD_AREAS];
	size_t area_count;
	uint64_t holes[WORLD_HOLES]; /* unreadable, but reported as readable */
	size_t hole_count;
	uint64_t unknown[WORLD_HOLES]; /* pages that are known to be unreadable */
	size_t unknown_count;
	size_t reads;
	size_t collected;
	struct scan_image images[4];
	struct blocks blocks;
	struct scan_memory memory;
	struct scan_input input;
	struct scan_result result;
	struct scan_bytes registers[2];
};

static inline unsigned char *world_bytes(struct world *world, uint64_t address)
{
	for (size_t i = 0; i < world->area_count; i++)
		if (address - world->ranges[i].start <
		    world->ranges[i].end - world->ranges[i].start)
			return world->bytes[i] + (address - world->ranges[i].start);
	return NULL;
}

static inline bool world_in_page(const uint64_t *pages, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (pages[i] == address / WORLD_PAGE * WORLD_PAGE)
			return true;
	return false;
}

/* Everything is one extent, except for pages that are known to be unreadable. */
static inline int world_next(void *ctx, uint64_t address, uint64_t end, struct scan_extent *ret)
{
	struct world *world = ctx;
	bool unknown = world_in_page(world->unknown, world->unknown_count, address);

	*ret = (struct scan_extent){.start = address, .end = address, .readable = !unknown};
	while (ret->end < end &&
	       world_in_page(world->unknown, world->unknown_count, ret->end) == unknown)
		ret->end = (ret->end / WORLD_PAGE + 1) * WORLD_PAGE;
	if (ret->end > end)
		ret->end = end;
	return 1;
}

static inline ssize_t world_read(void *ctx, const struct memory_piece *pieces, size_t count,
				 void *buffer)
{
	struct world *world = ctx;
	unsigned char *out = buffer;

	__atomic_add_fetch(&world->reads, 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < count; i++) {
		uint64_t at = pieces[i].address, end = at + pieces[i].size;

		while (at < end) {
			uint64_t stop = (at / WORLD_PAGE + 1) * WORLD_PAGE;
			unsigned char *bytes = world_bytes(world, at);

			stop = stop < end ? stop : end;
			if (!bytes || world_in_page(world->holes, world->hole_count, at))
				return out - (unsigned char *)buffer;
			memcpy(out, bytes, stop - at);
			out += stop - at;
			at = stop;
		}
	}
	return out - (unsigned char *)buffer;
}

static inline void world_init(struct world *world)
{
	*world = (struct world){0};
	world->memory = (struct scan_memory){world_next, world_read, world};
	world->input = (struct scan_input){
		.memory = &world->memory,
		.ranges = world->ranges,
		.images = world->images,
		.registers = world->registers,
		.word = 8,
		.step = 8,
	};
}

static inline void world_area(struct world *world, uint64_t start, uint64_t size)
{
	world->ranges[world->area_count] = (struct scan_range){.start = start, .end = start + size};
	world->bytes[world->area_count++] = calloc(1, size);
	world->input.range_count = world->area_count;
}

static inline void world_put(struct world *world, uint64_t address, uint64_t word)
{
	memcpy(world_bytes(world, address), &word, world->input.word);
}

static inline void world_block(struct world *world, uint64_t address, uint64_t size)
{
	blocks_add(&world->blocks, address, size);
}

static inline int world_scan(struct world *world)
{
	scan_result_free(&world->result);
	return scan_run(&world->blocks, &world->input, &world->result);
}

static inline enum leak_class world_class(const struct world *world, uint64_t address)
{
	return scan_class_of(&world->result, blocks_at(&world->blocks, address));
}

static inline void world_free(struct world *world)
{
	for (size_t i = 0; i < world->area_count; i++)
		free(world->bytes[i]);
	blocks_free(&world->blocks);
	scan_result_free(&world->result);
}

#endif
