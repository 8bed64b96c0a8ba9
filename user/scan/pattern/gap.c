/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A freed chunk still holds what the program wrote there. Were it a root, stale pointers would hide
 * leaks. Were memory that is not malloc's taken for a freed chunk, pointers in it would be ignored,
 * and their blocks falsely called leaked. So nothing is believed but a proof:
 *
 * - In glibc (malloc/malloc.c, "struct malloc_chunk") the word before a block holds the size of its
 *   chunk, the lowest three bits being flags, and the next chunk begins where this one ends.
 * - From a block that is known to be live, its size leads to the next chunk, whose size leads on.
 * If this chain ends exactly where the next known block's chunk begins, or exactly at the end of
 * the heap where the top chunk ends, then every byte in between belongs to some chunk of malloc's.
 * - All blocks that were given out are known (the caller says so), so these chunks are free, or the
 *   allocator's own bookkeeping.
 *
 * Memory that the program took by sbrk between two of malloc's calls breaks the chain: malloc ends
 * its part with chunks of the least size, and behind them are the program's own words, which would
 * have to be sizes that add up to the very place. Other allocators have no such chain; then
 * everything between blocks stays a root, and what only stale pointers there lead to is not
 * reported.
 *
 * Where a heap begins, the chain may begin with its first chunk instead of a block. That is at the
 * start of "[heap]" and behind a thread's arena. What lies before the first block of any other
 * mapping remains a root.
 */
#include "scan/pattern/gap.h"

#define FLAGS   7u
#define MMAPPED 2u

/* A heap of a thread begins with the end of its arena, which takes up to so many chunk headers. */
#define FIRST_CHUNK 8

/* The size of the chunk, or 0 for what cannot be one. */
static uint64_t chunk_size(struct word_reader *reader, uint64_t chunk)
{
	unsigned int word = reader->input->word;
	uint64_t header;

	if (!word_read(reader, chunk + word, &header) || header & MMAPPED)
		return 0;
	return (header & ~(uint64_t)FLAGS) % (2 * word) ? 0 : header & ~(uint64_t)FLAGS;
}

/* Returns true if chunk after chunk leads exactly to the goal. */
static bool leads_to(struct word_reader *reader, uint64_t chunk, uint64_t goal)
{
	while (chunk < goal) {
		uint64_t size = chunk_size(reader, chunk);

		if (!size || size > goal - chunk)
			return false;
		chunk += size;
	}
	return chunk == goal;
}

/* Where the chunk of the block at `next` begins, or the heap ends. */
static uint64_t gap_goal(const struct word_reader *reader, uint64_t next, uint64_t limit)
{
	return next < limit ? next - 2 * reader->input->word : limit;
}

bool gap_is_free(struct word_reader *reader, uint64_t block, uint64_t size, uint64_t next,
		 uint64_t limit)
{
	unsigned int word = reader->input->word;
	uint64_t chunk = block - 2 * word;

	return chunk_size(reader, chunk) >= size + word &&
	       leads_to(reader, chunk, gap_goal(reader, next, limit));
}

bool gap_before_is_free(struct word_reader *reader, uint64_t start, uint64_t next, uint64_t limit)
{
	unsigned int step = 2 * reader->input->word;
	uint64_t first = (start + step - 1) & ~(uint64_t)(step - 1);
	uint64_t goal = gap_goal(reader, next, limit);

	for (uint64_t chunk = first; chunk < first + FIRST_CHUNK * step; chunk += step)
		if (chunk < goal && leads_to(reader, chunk, goal))
			return true;
	return false;
}
