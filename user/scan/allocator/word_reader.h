/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads single words of the scanned memory, most of which lie near the one before. */
#ifndef MTRACE_SCAN_ALLOCATOR_WORD_READER_H
#define MTRACE_SCAN_ALLOCATOR_WORD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/scan_types.h"

#define WORD_READER_BYTES 4096

/* All zero except for input. Keeps what it has read: use a new one once memory may have changed. */
struct word_reader {
	const struct scan_input *input;
	uint64_t start; /* of the memory in bytes */
	size_t size;
	unsigned char bytes[WORD_READER_BYTES];
};

/* Reads input->word bytes. Returns false if they cannot be read. */
bool word_read(struct word_reader *reader, uint64_t address, uint64_t *ret_word);

#endif
