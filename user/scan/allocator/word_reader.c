// SPDX-License-Identifier: GPL-2.0-or-later
#include "scan/allocator/word_reader.h"

#include <string.h>

static bool is_read(const struct word_reader *reader, uint64_t address)
{
	return address >= reader->start && address - reader->start < reader->size &&
	       reader->size - (address - reader->start) >= reader->input->word;
}

static bool read_bytes(struct word_reader *reader, uint64_t address)
{
	const struct memory_piece piece = {.address = address, .size = sizeof(reader->bytes)};
	const struct scan_memory *memory = reader->input->memory;
	ssize_t got = memory->read(memory->ctx, &piece, 1, reader->bytes);

	reader->start = address;
	reader->size = got > 0 ? (size_t)got : 0;
	return reader->size >= reader->input->word;
}

bool word_read(struct word_reader *reader, uint64_t address, uint64_t *ret_word)
{
	const unsigned char *bytes;
	uint32_t half;

	if (!is_read(reader, address) && !read_bytes(reader, address))
		return false;
	bytes = reader->bytes + (address - reader->start);
	if (reader->input->word == sizeof(*ret_word)) {
		memcpy(ret_word, bytes, sizeof(*ret_word));
		return true;
	}
	memcpy(&half, bytes, sizeof(half));
	*ret_word = half;
	return true;
}
