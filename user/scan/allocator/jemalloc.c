// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Metadata blocks ("struct base_block_s", jemalloc's include/jemalloc/internal/base.h) are mapped
 * in multiples of 2 MiB. A description in them ("struct edata_s", edata.h) holds 8 bytes of flags,
 * an address and a size. There is one for each extent, which is a large allocation or a slab of
 * small ones, so the address is that of the first block in it.
 *
 * A metadata block starts at a multiple of 2 MiB. It begins with its size, the address of the next
 * block, and a description of its unused part, which always extends to the end. So the address and
 * size of that part add up to the end of the block. It is unlikely that other data at such an
 * address does the same.
 *
 * A thread's cache (tcache.h, cache_bin.h) is a large allocation in the first arena. It holds
 * addresses of free blocks, and still those of the blocks that it handed out last. Since 5.3 it
 * begins with a word of bytes 0x7a and ends with a word of bytes 0xa7.
 */
#include "scan/allocator/jemalloc.h"

#include <errno.h>
#include <stdlib.h>

#include "scan/allocator/word_reader.h"

#define ALIGNMENT   (2ULL << 20)
#define FLAGS_BYTES 8

#define DESCRIPTION_STEP 64   /* bytes: a description begins at a multiple of it */
#define ARENA_MASK       4095 /* in the flags: the number of the arena … */
#define SLAB             4096 /* … and whether it is a slab */
#define SIZE_MASK        (~(uint64_t)4095)

#define CACHE_BYTES_MIN (8u << 10)
#define CACHE_BYTES_MAX (1u << 20)
#define CACHE_BEGINS    0x7a7a7a7a7a7a7a7aULL
#define CACHE_ENDS      0xa7a7a7a7a7a7a7a7ULL

struct jemalloc_search {
	const struct scan_input *input;
	struct owned_extents *extents;
	struct word_reader metadata;
	struct word_reader caches;
};

/*
 * Finds the first memory at or above the address that may hold anything. Returns false if there is
 * none.
 */
static bool next_content(const struct jemalloc_search *search, uint64_t address, uint64_t end,
			 struct scan_extent *ret_extent)
{
	const struct scan_memory *memory = search->input->memory;

	while (address < end && memory->next(memory->ctx, address, end, ret_extent) > 0) {
		if (ret_extent->readable)
			return true;
		address = ret_extent->end;
	}
	return false;
}

static int add(struct jemalloc_search *search, uint64_t start, uint64_t end)
{
	return vec_push(&search->extents->list, ((struct owned_extent){.start = start, .end = end}))
		       ? -ENOMEM
		       : 0;
}

/* Thread caches. */

static uint64_t marker(const struct jemalloc_search *search, uint64_t bytes)
{
	return search->input->word == sizeof(bytes) ? bytes : (uint32_t)bytes;
}

static int add_cache(struct jemalloc_search *search, uint64_t start, uint64_t size)
{
	unsigned int word = search->input->word;
	uint64_t value;

	if (!word_may_be_at(search->input, start) || !word_read(&search->caches, start, &value) ||
	    value != marker(search, CACHE_BEGINS))
		return 0;
	for (uint64_t at = start + word; at < start + size; at += word) {
		if (!word_may_be_at(search->input, at))
			at |= WORD_READER_BYTES - word; /* continue at the last word of its page */
		else if (word_read(&search->caches, at, &value) &&
			 value == marker(search, CACHE_ENDS))
			return add(search, start, at);
	}
	return 0;
}

/* Adds the extent if its description is that of a large allocation in the first arena. */
static int add_described_cache(struct jemalloc_search *search, uint64_t description)
{
	unsigned int word = search->input->word;
	uint64_t flags, address, size;

	if (!word_read(&search->metadata, description, &flags) || flags & (ARENA_MASK | SLAB) ||
	    !word_read(&search->metadata, description + FLAGS_BYTES, &address) || !address ||
	    address % word ||
	    !word_read(&search->metadata, description + FLAGS_BYTES + word, &size))
		return 0;
	size &= SIZE_MASK;
	return size >= CACHE_BYTES_MIN && size <= CACHE_BYTES_MAX ? add_cache(search, address, size)
								  : 0;
}

static int add_caches(struct jemalloc_search *search, uint64_t block, uint64_t end)
{
	struct scan_extent extent;
	int err = 0;

	while (!err && next_content(search, block, end, &extent)) {
		block = (extent.start + DESCRIPTION_STEP - 1) & ~(uint64_t)(DESCRIPTION_STEP - 1);
		for (; !err && block < extent.end; block += DESCRIPTION_STEP)
			err = add_described_cache(search, block);
		block = extent.end;
	}
	return err;
}

/* Metadata blocks. */

/* Returns the end of the block that begins at the address, or 0 if there is none. */
static uint64_t block_end(struct jemalloc_search *search, uint64_t block)
{
	unsigned int word = search->input->word;
	uint64_t size, next, unused, unused_size;

	if (!word_read(&search->metadata, block, &size) || !size || size % ALIGNMENT ||
	    size > UINT64_MAX - block || !word_read(&search->metadata, block + word, &next) ||
	    next % ALIGNMENT ||
	    !word_read(&search->metadata, block + 2 * word + FLAGS_BYTES, &unused) ||
	    !word_read(&search->metadata, block + 3 * word + FLAGS_BYTES, &unused_size))
		return 0;
	if (unused <= block || unused > block + size || unused_size != block + size - unused)
		return 0;
	return block + size;
}

static int search_range(struct jemalloc_search *search, const struct scan_range *range)
{
	uint64_t at = (range->start + ALIGNMENT - 1) & ~(ALIGNMENT - 1), end;
	struct scan_extent extent;
	int err = 0;

	while (!err && at < range->end && next_content(search, at, range->end, &extent)) {
		if (extent.start > at) {
			at = (extent.start + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
			continue;
		}
		end = block_end(search, at);
		if (end)
			err = add(search, at, end);
		if (end && !err)
			err = add_caches(search, at, end < range->end ? end : range->end);
		at = end ? end : at + ALIGNMENT;
	}
	return err;
}

int jemalloc_find(const struct scan_input *input, struct owned_extents *extents)
{
	struct jemalloc_search *search = calloc(1, sizeof(*search));
	int err = 0;

	if (!search)
		return -ENOMEM;
	search->input = search->metadata.input = search->caches.input = input;
	search->extents = extents;
	for (size_t i = 0; !err && i < input->range_count; i++)
		err = search_range(search, &input->ranges[i]);
	free(search);
	return err;
}
