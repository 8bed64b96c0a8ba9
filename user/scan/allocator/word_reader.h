/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads single words of the scanned memory. Most of them should be close to the previous one. */
#ifndef MTRACE_SCAN_ALLOCATOR_WORD_READER_H
#define MTRACE_SCAN_ALLOCATOR_WORD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/scan_types.h"

#define WORD_READER_BYTES 4096 /* a page */

/*
 * All zero except for input. Caches what it has read, so use a new one after memory may have
 * changed.
 */
struct word_reader {
	const struct scan_input *input;
	uint64_t start; /* address of the memory in `bytes` */
	size_t size;
	unsigned char bytes[WORD_READER_BYTES];
};

/*
 * Returns true if there may be a word other than 0 at the address. Ask before reading, because
 * reading memory that was never touched makes the process larger. Only allowed before the scan
 * begins, because scan_memory.next serves one thread.
 */
bool word_may_be_at(const struct scan_input *input, uint64_t address);

/* Reads input->word bytes. Returns false if they cannot be read or span two pages. */
bool word_read(struct word_reader *reader, uint64_t address, uint64_t *ret_word);

#endif
