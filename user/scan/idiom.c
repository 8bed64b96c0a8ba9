/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scan/idiom.h"

#include <string.h>

#define VTABLE_WORDS     20 /* looked at for function pointers, as memcheck does */
#define VTABLE_FUNCTIONS 2  /* that are enough */
#define PAGE_SIZE        4096u

static uint64_t word_at(const struct scan_input *input, const void *bytes, size_t index)
{
	uint64_t wide;
	uint32_t narrow;

	if (input->word == sizeof(wide)) {
		memcpy(&wide, (const char *)bytes + index * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, (const char *)bytes + index * sizeof(narrow), sizeof(narrow));
	return narrow;
}

const struct scan_image *idiom_image_at(const struct scan_input *input, uint64_t address)
{
	size_t low = 0, high = input->image_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (input->images[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < input->image_count && input->images[low].start <= address)
		return &input->images[low];
	return NULL;
}

static bool may_be_vtable(const struct scan_input *input, uint64_t word)
{
	return word % input->word == 0 && word >= PAGE_SIZE && idiom_image_at(input, word);
}

/* 64 bits, whatever the word is. */
static uint64_t length_of(const struct scan_input *input, const uint64_t first[IDIOM_WORDS])
{
	return input->word == 8 ? first[0] : first[1] << 32 | first[0];
}

uint8_t idiom_of(const struct scan_input *input, const uint64_t first[IDIOM_WORDS], uint64_t size)
{
	uint64_t word = input->word, header = 3 * word;
	uint8_t idioms = 0;

	if (size > header && first[1] == size - header - 1 && first[0] <= first[1])
		idioms |= IDIOM_STRING;
	if (size > 8 && length_of(input, first) == size - 8)
		idioms |= IDIOM_LENGTH;
	if (size > word && first[0] && first[0] <= size - word && (size - word) % first[0] == 0)
		idioms |= IDIOM_COUNT;
	if (size > word && may_be_vtable(input, first[0]))
		idioms |= IDIOM_OBJECT;
	return idioms;
}

static bool read_words(const struct scan_input *input, uint64_t address, void *bytes, size_t count)
{
	struct memory_piece piece = {.address = address, .size = count * input->word};

	return input->memory->read(input->memory->ctx, &piece, 1, bytes) == (ssize_t)piece.size;
}

/* Only null pointers and pointers to code, two of the latter. */
static bool is_vtable(const struct scan_input *input, uint64_t address)
{
	const struct scan_image *image = idiom_image_at(input, address);
	unsigned char bytes[VTABLE_WORDS * 8];
	size_t count, functions = 0;

	if (!image || !may_be_vtable(input, address))
		return false;
	count = (image->end - address) / input->word;
	count = count < VTABLE_WORDS ? count : VTABLE_WORDS;
	if (!read_words(input, address, bytes, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint64_t function = word_at(input, bytes, i);

		if (!function)
			continue;
		image = idiom_image_at(input, function);
		if (!image || !image->executable)
			return false;
		if (++functions == VTABLE_FUNCTIONS)
			return true;
	}
	return false;
}

/* Both the block and what is pointed to begin with a pointer to a vtable. */
static bool is_base_class(const struct scan_input *input, uint64_t start, uint64_t address)
{
	unsigned char first[8], inner[8];

	return address % input->word == 0 && read_words(input, address, inner, 1) &&
	       may_be_vtable(input, word_at(input, inner, 0)) &&
	       read_words(input, start, first, 1) && is_vtable(input, word_at(input, inner, 0)) &&
	       is_vtable(input, word_at(input, first, 0));
}

bool idiom_accepts(const struct scan_input *input, uint8_t idioms, uint64_t start, uint64_t address)
{
	uint64_t offset = address - start;

	return (idioms & IDIOM_STRING && offset == 3 * input->word) ||
	       (idioms & IDIOM_LENGTH && offset == 8) ||
	       (idioms & IDIOM_COUNT && offset == input->word) ||
	       (idioms & IDIOM_OBJECT && is_base_class(input, start, address));
}
