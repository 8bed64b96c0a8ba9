/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lies between two blocks of glibc's malloc. gap.c explains how that is known. */
#ifndef MTRACE_SCAN_PATTERN_GAP_H
#define MTRACE_SCAN_PATTERN_GAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/allocator/word_reader.h"
#include "scan/scan_types.h"

#define GAP_PAGE 4096

/*
 * Returns true if all memory after the block is free or malloc's own, up to the block at `next` or
 * to `limit`, the end of the heap, whichever comes first.
 */
bool gap_is_free(struct word_reader *reader, uint64_t block, uint64_t size, uint64_t next,
		 uint64_t limit);

/* The same for the memory before the first block of a heap, which begins at `start`. */
bool gap_before_is_free(struct word_reader *reader, uint64_t start, uint64_t next, uint64_t limit);

/* Returns where the content of a block ends: its size rounded as malloc does, but not above `next`.
 */
static inline uint64_t gap_content_end(const struct scan_input *input, uint64_t block,
				       uint64_t size, uint64_t next)
{
	unsigned int word = input->word, chunk = input->chunk ? input->chunk : 16;
	uint64_t rounded = ((size + word + chunk - 1) & ~(uint64_t)(chunk - 1)) - word;
	uint64_t end;

	if (rounded < 3 * word)
		rounded = 3 * word; /* malloc's minimum */
	if (rounded < size || (block % GAP_PAGE == 0 && size % GAP_PAGE == 0 && size))
		rounded = size; /* pages from mmap(2) */
	end = rounded > UINT64_MAX - block ? UINT64_MAX : block + rounded;
	return end < next ? end : next;
}

#endif
