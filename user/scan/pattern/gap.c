/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A freed chunk still holds what the program wrote there. If it were a root, stale pointers would
 * hide leaks. If other memory were taken for a freed chunk, pointers in it would be ignored and
 * their blocks falsely called leaked. So only proof counts:
 *
 * - In glibc (malloc/malloc.c, "struct malloc_chunk"), the word before a block holds the size of
 * its chunk, with three flags in its lowest bits, and the next chunk begins where this one ends.
 * - So each size leads to the next chunk, starting from a live block. If this chain ends exactly
 *   where the chunk of the next known block begins, or exactly at the end of the heap, where the
 * top chunk ends, then every byte in between belongs to a chunk of malloc.
 * - The caller knows all blocks that were allocated, so these chunks are free, or malloc's own.
 *
 * Memory that the program allocated by sbrk(2) between two calls of malloc breaks the chain: malloc
 * ends its part with chunks of minimal size, and the program's own words after them would have to
 * be sizes that add up exactly. Other allocators have no such chain. Then everything between blocks
 * remains a root, and leaked blocks to which stale pointers there lead are not found.
 *
 * Where a heap begins, the chain may begin with its first chunk instead of a block. That is at the
 * start of "[heap]" and after a thread's arena. Memory before the first block of any other mapping
 * remains a root.
 */
#include "scan/pattern/gap.h"

#define FLAGS   7u
#define MMAPPED 2u

/* A thread's heap begins with the end of its arena, which is no longer than this many chunk
 * headers. */
#define FIRST_CHUNK 8

/* Returns the size of the chunk, or 0 if it cannot be one. */
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

/* Returns where the chunk of the block at `next` begins, or where the heap ends. */
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
