/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scan/pattern/idiom.h"

#include <string.h>

#define VTABLE_WORDS     20 /* searched for function pointers, as memcheck does */
#define VTABLE_FUNCTIONS 2  /* this many are enough */
#define PAGE_SIZE        4096u

static uint64_t word_at(const struct scan_input *input, const void *bytes, size_t index)
{
	uint64_t wide;
	uint32_t word32;

	if (input->word == sizeof(wide)) {
		memcpy(&wide, (const char *)bytes + index * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&word32, (const char *)bytes + index * sizeof(word32), sizeof(word32));
	return word32;
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

/* Numbers have the byte order of this machine, because its processes are scanned. */
static uint64_t number_at(const unsigned char *bytes, size_t count)
{
	uint64_t number = 0;

	for (size_t i = 0; i < count; i++)
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		number = number << 8 | bytes[i];
#else
		number |= (uint64_t)bytes[i] << 8 * i;
#endif
	return number;
}

/*
 * sds (redis: src/sds.h): the pointer is to the characters. Before them are the length and the
 * capacity, each as wide as necessary, and a byte with the type. In the smallest type the length is
 * in the upper five bits of that byte. The capacity includes what the allocator rounded up.
 */
struct sds {
	unsigned int header;
	unsigned int width; /* of the length and of the capacity */
};

static const struct sds sds_types[] = {{1, 0}, {3, 1}, {5, 2}, {9, 4}, {17, 8}};

#define SDS_TYPES     (sizeof(sds_types) / sizeof(sds_types[0]))
#define SDS_LEAST_MAX 33 /* bytes of a block of the smallest type: up to 31 characters */
#define SDS_SLACK     16 /* bytes; an allocator may round up by this and a quarter */

/*
 * Returns true if header, capacity and the terminating 0 add up to the block's size, or to the size
 * that an allocator makes of it.
 */
static bool sds_fits(const struct sds *type, const unsigned char *bytes, uint64_t size)
{
	uint64_t length = number_at(bytes, type->width);
	uint64_t room = number_at(bytes + type->width, type->width);
	uint64_t all;

	if (!type->width)
		return (bytes[0] & 7) == 0 && (uint64_t)(bytes[0] >> 3) + 2 == size;
	if (length > room || __builtin_add_overflow(room, type->header + 1, &all))
		return false;
	return all >= size && all - size <= size / 4 + SDS_SLACK;
}

/* The type byte, if it was read, holds only the number of the type. */
static bool has_sds_type(const struct scan_input *input, size_t type, const unsigned char *bytes,
			 uint64_t size)
{
	size_t place = sds_types[type].header - 1;

	if (!type)
		return size <= SDS_LEAST_MAX;
	return place < idiom_bytes(input) ? bytes[place] == type : size > UINT32_MAX;
}

/* This is asked for every block, so the first test rules out most. */
static inline bool may_be_sds(const unsigned char *bytes, uint64_t size)
{
	return (bytes[2] == 1) | (bytes[4] == 2) | (bytes[8] == 3) | (size <= SDS_LEAST_MAX) |
	       (size > UINT32_MAX);
}

static bool is_sds(const struct scan_input *input, const unsigned char *bytes, uint64_t size)
{
	for (size_t i = 0; i < SDS_TYPES; i++)
		if (has_sds_type(input, i, bytes, size) && sds_fits(&sds_types[i], bytes, size))
			return true;
	return false;
}

/* calloc(length + 2, sizeof(dtv_t)): the first entry's first half is the length. */
static bool is_dtv(const struct scan_input *input, const uint64_t first[2], uint64_t size)
{
	uint64_t entry = 2 * input->word;

	return first[0] && !first[1] && size % entry == 0 && first[0] == size / entry - 2;
}

/* C++ ABI for the Arm Architecture, 3.2.2: 32 bits only. */
static bool is_sized(const struct scan_input *input, const uint64_t first[2], uint64_t size)
{
	return input->word == 4 && first[0] && size > 8 && first[0] * first[1] == size - 8;
}

static uint8_t kind_of(const struct scan_input *input, const void *bytes, const uint64_t first[2],
		       uint64_t size)
{
	uint64_t word = input->word, header = 3 * word;

	if (size > header && first[1] == size - header - 1 && first[0] <= first[1])
		return IDIOM_STRING;
	if (size > 8 && number_at(bytes, 8) == size - 8) /* 64 bits even if words have 32 */
		return IDIOM_LENGTH;
	if (size > word && may_be_vtable(input, first[0]))
		return IDIOM_OBJECT;
	if (is_sized(input, first, size))
		return IDIOM_SIZED;
	return size > 2 * word && is_dtv(input, first, size) ? IDIOM_DTV : 0;
}

uint8_t idiom_looks(const struct scan_input *input, const void *bytes, uint64_t size)
{
	uint64_t word = input->word,
		 first[2] = {word_at(input, bytes, 0), word_at(input, bytes, 1)};
	uint8_t looks = (uint8_t)(IDIOM_NONE + kind_of(input, bytes, first, size));

	if (size > word && first[0] && first[0] <= size - word && (size - word) % first[0] == 0)
		looks += IDIOM_COUNT;
	if (may_be_sds(bytes, size) && is_sds(input, bytes, size))
		looks += IDIOM_SDS;
	return looks;
}

static bool read_words(const struct scan_input *input, uint64_t address, void *bytes, size_t count)
{
	struct memory_piece piece = {.address = address, .size = count * input->word};

	return input->memory->read(input->memory->ctx, &piece, 1, bytes) == (ssize_t)piece.size;
}

/*
 * Returns true if only null pointers and code pointers come first, with at least two of the latter.
 */
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

/* Both the block and the object that is pointed to begin with a pointer to a vtable. */
static bool is_base_class(const struct scan_input *input, uint64_t start, uint64_t address)
{
	unsigned char first[8], inner[8];

	return address % input->word == 0 && read_words(input, address, inner, 1) &&
	       may_be_vtable(input, word_at(input, inner, 0)) &&
	       read_words(input, start, first, 1) && is_vtable(input, word_at(input, inner, 0)) &&
	       is_vtable(input, word_at(input, first, 0));
}

/* Reads the whole header and the 0 after the characters. */
static bool is_sds_at(const struct scan_input *input, uint64_t start, uint64_t offset)
{
	const struct sds *type = sds_types;
	unsigned char header[17], end = 1;
	struct memory_piece piece = {.address = start, .size = offset};
	const struct scan_memory *memory = input->memory;
	uint64_t length;

	while (type < sds_types + SDS_TYPES && type->header != offset)
		type++;
	if (type == sds_types + SDS_TYPES ||
	    memory->read(memory->ctx, &piece, 1, header) != (ssize_t)piece.size)
		return false;
	if ((type->width ? header[offset - 1] : header[0] & 7) != type - sds_types)
		return false;
	length = type->width ? number_at(header, type->width) : header[0] >> 3;
	piece = (struct memory_piece){.address = start + offset + length, .size = 1};
	return memory->read(memory->ctx, &piece, 1, &end) == 1 && !end;
}

bool idiom_accepts(const struct scan_input *input, uint8_t looks, uint64_t start, uint64_t address)
{
	uint64_t offset = address - start;
	uint8_t kind = (looks - IDIOM_NONE) % IDIOM_KINDS, more = looks - IDIOM_NONE - kind;

	return (kind == IDIOM_STRING && offset == 3 * input->word) ||
	       (kind == IDIOM_LENGTH && offset == 8) ||
	       ((kind == IDIOM_DTV || kind == IDIOM_SIZED) && offset == 2 * input->word) ||
	       (more % IDIOM_SDS == IDIOM_COUNT && offset == input->word) ||
	       (more >= IDIOM_SDS && is_sds_at(input, start, offset)) ||
	       (kind == IDIOM_OBJECT && is_base_class(input, start, address));
}
