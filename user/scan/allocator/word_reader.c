// SPDX-License-Identifier: GPL-2.0-or-later
#include "scan/allocator/word_reader.h"

#include <string.h>

/* The range that holds the address, or NULL. */
static const struct scan_range *range_at(const struct scan_input *input, uint64_t address)
{
	size_t low = 0, high = input->range_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (input->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < input->range_count && input->ranges[low].start <= address ? &input->ranges[low]
									       : NULL;
}

bool word_may_be_at(const struct scan_input *input, uint64_t address)
{
	const struct scan_range *range = range_at(input, address);
	struct scan_extent extent;

	return range && input->memory->next(input->memory->ctx, address, range->end, &extent) > 0 &&
	       extent.start == address && extent.readable;
}

static bool is_read(const struct word_reader *reader, uint64_t address)
{
	return address >= reader->start && address - reader->start < reader->size &&
	       reader->size - (address - reader->start) >= reader->input->word;
}

/* Reads only the word's page, because reading untouched pages makes the process larger. */
static bool read_page(struct word_reader *reader, uint64_t address)
{
	const struct scan_memory *memory = reader->input->memory;
	const struct memory_piece page = {.address = address & ~(uint64_t)(WORD_READER_BYTES - 1),
					  .size = WORD_READER_BYTES};
	ssize_t got = memory->read(memory->ctx, &page, 1, reader->bytes);

	reader->start = page.address;
	reader->size = got > 0 ? (size_t)got : 0;
	return is_read(reader, address);
}

bool word_read(struct word_reader *reader, uint64_t address, uint64_t *ret_word)
{
	const unsigned char *bytes;
	uint32_t half;

	if (!is_read(reader, address) && !read_page(reader, address))
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
