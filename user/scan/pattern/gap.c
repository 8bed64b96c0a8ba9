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
 * What lies before the first block of a mapping remains a root in any case. Links between free
 * chunks there are left out nevertheless (scan/allocator/glibc_free_list.h).
 */
#include "scan/pattern/gap.h"

#define FLAGS   7u
#define MMAPPED 2u

/* The size of the chunk, or 0 for what cannot be one. */
static uint64_t chunk_size(struct word_reader *reader, uint64_t chunk)
{
	unsigned int word = reader->input->word;
	uint64_t header;

	if (!word_read(reader, chunk + word, &header) || header & MMAPPED)
		return 0;
	return (header & ~(uint64_t)FLAGS) % (2 * word) ? 0 : header & ~(uint64_t)FLAGS;
}

bool gap_is_free(struct word_reader *reader, uint64_t block, uint64_t size, uint64_t next,
		 uint64_t limit)
{
	unsigned int word = reader->input->word;
	uint64_t chunk = block - 2 * word;
	uint64_t goal = next < limit ? next - 2 * word : limit;
	uint64_t chunk_bytes = chunk_size(reader, chunk);

	if (chunk_bytes < size + word)
		return false;
	while (chunk_bytes && chunk_bytes <= goal - chunk) {
		chunk += chunk_bytes;
		if (chunk == goal)
			return true;
		chunk_bytes = chunk_size(reader, chunk);
	}
	return false;
}
