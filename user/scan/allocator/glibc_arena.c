// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An arena ("struct malloc_state", glibc's malloc/malloc.c) contains, in this order: the heads of
 * up to 11 lists of fast chunks, the top chunk, the last remainder, 127 bins of two words each, a
 * bitmap of 16 bytes, and the address of the next arena. All of these point to chunks. A chunk
 * begins two words before its block, which is in the last word of the previous block if the program
 * asked for all of it.
 *
 * A bin is the head of a doubly linked list of free chunks. Its two words serve as those of a chunk
 * that begins two words earlier, so an empty bin holds the address two words before itself, twice.
 * That is how the first arena (main_arena) is found in the data of libc or of a static program: one
 * empty bin, and 127 bins in a row. The other arenas follow by address, because arenas form a ring.
 *
 * A thread that was stopped within malloc may have linked a chunk in one direction only, so one
 * direction is enough.
 */
#include "scan/allocator/glibc_arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scan/allocator/word_reader.h"

#define BINS              127
#define WORDS_BEFORE_BINS 13 /* fast chunks, top, last remainder */
#define BITMAP_BYTES      16
#define ARENAS_MAX        65536
#define BATCH_BYTES       (64 * 1024)

struct arena_search {
	const struct scan_input *input;
	struct owned_extents *extents;
	struct word_reader reader;
	unsigned char batch[BATCH_BYTES];
};

/* Chunks as malloc sees them. */

static bool link_leads_back(struct arena_search *search, uint64_t chunk, unsigned int back_word,
			    uint64_t head)
{
	uint64_t back;

	return word_read(&search->reader, chunk + back_word * search->input->word, &back) &&
	       back == head;
}

static bool is_bin(struct arena_search *search, uint64_t bin)
{
	unsigned int word = search->input->word;
	uint64_t head = bin - 2 * word, forward, backward;

	if (!word_read(&search->reader, bin, &forward) ||
	    !word_read(&search->reader, bin + word, &backward))
		return false;
	if (forward == head && backward == head)
		return true;
	return link_leads_back(search, forward, 3, head) ||
	       link_leads_back(search, backward, 2, head);
}

/* Arenas. */

/* Returns the first of the bins around a known one, or 0 if there are not exactly 127 in a row. */
static uint64_t first_bin(struct arena_search *search, uint64_t bin)
{
	uint64_t step = 2 * search->input->word, first = bin, end = bin + step;

	while (end - first <= BINS * step && is_bin(search, first - step))
		first -= step;
	while (end - first <= BINS * step && is_bin(search, end))
		end += step;
	return end - first == BINS * step ? first : 0;
}

static bool is_known(const struct arena_search *search, uint64_t address)
{
	const struct owned_extent *extent;

	vec_each (extent, &search->extents->list)
		if (extent->start <= address && address < extent->end)
			return true;
	return false;
}

static int add_arena(struct arena_search *search, uint64_t first)
{
	unsigned int word = search->input->word;
	const struct owned_extent extent = {
		.start = first - WORDS_BEFORE_BINS * word,
		.end = first + 2 * BINS * word,
		.arena = true,
	};

	return vec_push(&search->extents->list, extent) ? -ENOMEM : 0;
}

/* The bins of an arena that begins at the address. The words before them differ by version. */
static uint64_t bins_of(struct arena_search *search, uint64_t arena)
{
	unsigned int word = search->input->word;

	for (unsigned int i = 1; i < 2 * WORDS_BEFORE_BINS; i++) {
		uint64_t bin = arena + i * word;

		if (is_bin(search, bin))
			return first_bin(search, bin);
	}
	return 0;
}

/* Adds the arena with these bins, and all other arenas in the ring. */
static int add_ring(struct arena_search *search, uint64_t first)
{
	uint64_t next;

	for (unsigned int i = 0; first && i < ARENAS_MAX && !is_known(search, first); i++) {
		int err = add_arena(search, first);

		if (err)
			return err;
		if (!word_read(&search->reader,
			       first + 2 * BINS * search->input->word + BITMAP_BYTES, &next))
			return 0;
		first = bins_of(search, next);
	}
	return 0;
}

/* Searching images. */

static uint64_t word_at(const struct arena_search *search, size_t offset)
{
	uint64_t word = 0;
	uint32_t half;

	if (search->input->word == sizeof(word)) {
		memcpy(&word, search->batch + offset, sizeof(word));
		return word;
	}
	memcpy(&half, search->batch + offset, sizeof(half));
	return half;
}

static bool is_empty_bin(const struct arena_search *search, uint64_t address, size_t offset)
{
	unsigned int word = search->input->word;
	uint64_t head = address + offset - 2 * word;

	return word_at(search, offset) == head && word_at(search, offset + word) == head;
}

static int search_batch(struct arena_search *search, uint64_t address, size_t size)
{
	unsigned int word = search->input->word;
	int err = 0;

	for (size_t at = 0; !err && at + 2 * word <= size; at += word)
		if (is_empty_bin(search, address, at) && !is_known(search, address + at))
			err = add_ring(search, first_bin(search, address + at));
	return err;
}

/* Batches overlap by a word, because a bin has two. */
static int search_extent(struct arena_search *search, const struct scan_extent *extent)
{
	const struct scan_memory *memory = search->input->memory;
	unsigned int word = search->input->word;
	uint64_t at = (extent->start + word - 1) & ~(uint64_t)(word - 1);

	while (at + 2 * word <= extent->end) {
		uint64_t left = extent->end - at;
		const struct memory_piece piece = {
			.address = at,
			.size = left < BATCH_BYTES ? left : BATCH_BYTES,
		};
		ssize_t got = memory->read(memory->ctx, &piece, 1, search->batch);
		int err;

		if (got < 0)
			return (int)got;
		err = search_batch(search, at, (size_t)got);
		if (err || (size_t)got < piece.size)
			return err;
		at += piece.size - word;
	}
	return 0;
}

static int search_image(struct arena_search *search, uint64_t start, uint64_t end)
{
	const struct scan_memory *memory = search->input->memory;
	struct scan_extent extent;
	int status = 0;

	while (start < end && (status = memory->next(memory->ctx, start, end, &extent)) > 0) {
		if (extent.readable)
			status = search_extent(search, &extent);
		if (status < 0)
			return status;
		start = extent.end;
	}
	return status;
}

/* Searches the part of the range in non-executable images, where data is. */
static int search_range(struct arena_search *search, const struct scan_range *range)
{
	const struct scan_input *input = search->input;
	int err = 0;

	for (size_t i = 0; !err && i < input->image_count; i++) {
		const struct scan_image *image = &input->images[i];
		uint64_t start = image->start > range->start ? image->start : range->start;
		uint64_t end = image->end < range->end ? image->end : range->end;

		if (!image->executable && start < end)
			err = search_image(search, start, end);
	}
	return err;
}

int glibc_arenas_find(const struct scan_input *input, struct owned_extents *extents)
{
	struct arena_search *search = calloc(1, sizeof(*search));
	int err = 0;

	if (!search)
		return -ENOMEM;
	search->input = search->reader.input = input;
	search->extents = extents;
	for (size_t i = 0; !err && i < input->range_count; i++)
		err = search_range(search, &input->ranges[i]);
	free(search);
	return err;
}
