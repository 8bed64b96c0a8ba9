// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/cfi/reader.h"

#include <dwarf.h>
#include <endian.h>
#include <string.h>

#define ENCODING_FORMAT(encoding)   ((encoding)&0x0f)
#define ENCODING_RELATION(encoding) ((encoding)&0x70)

/* Real files have nothing longer; the limits bound the time that a hostile file can cost. */
#define LEB_BYTES_MAX    16
#define STRING_BYTES_MAX 32

static size_t bytes_left(const struct cfi_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

static void fail(struct cfi_reader *reader)
{
	reader->failed = true;
	reader->at = reader->end;
}

static uint64_t load_fixed(const uint8_t *at, unsigned int width, bool big_endian)
{
	union {
		uint16_t two;
		uint32_t four;
		uint64_t eight;
	} value;

	switch (width) {
	case 2:
		memcpy(&value.two, at, sizeof(value.two));
		return big_endian ? be16toh(value.two) : le16toh(value.two);
	case 4:
		memcpy(&value.four, at, sizeof(value.four));
		return big_endian ? be32toh(value.four) : le32toh(value.four);
	case 8:
		memcpy(&value.eight, at, sizeof(value.eight));
		return big_endian ? be64toh(value.eight) : le64toh(value.eight);
	default:
		return *at;
	}
}

uint64_t cfi_read_fixed(struct cfi_reader *reader, unsigned int width)
{
	const uint8_t *at = reader->at;

	if (bytes_left(reader) < width) {
		fail(reader);
		return 0;
	}
	reader->at += width;
	return load_fixed(at, width, reader->big_endian);
}

/* Seven bits a byte, least significant first. */
static uint64_t read_leb(struct cfi_reader *reader, unsigned int *ret_bits, uint8_t *ret_last)
{
	uint64_t value = 0;
	uint8_t byte = 0x80;

	for (*ret_bits = 0; byte & 0x80; *ret_bits += 7) {
		byte = cfi_read_byte(reader);
		if (*ret_bits < 64)
			value |= (uint64_t)(byte & 0x7f) << *ret_bits;
		else if (*ret_bits > 7 * LEB_BYTES_MAX)
			fail(reader);
	}
	*ret_last = byte;
	return value;
}

uint64_t cfi_read_long_uleb(struct cfi_reader *reader)
{
	unsigned int bits;
	uint8_t last;

	return read_leb(reader, &bits, &last);
}

int64_t cfi_read_sleb(struct cfi_reader *reader)
{
	unsigned int bits;
	uint8_t last;
	uint64_t value = read_leb(reader, &bits, &last);

	if (bits < 64 && last & 0x40)
		value |= UINT64_MAX << bits;
	return (int64_t)value;
}

void cfi_skip(struct cfi_reader *reader, uint64_t size)
{
	if (bytes_left(reader) < size)
		fail(reader);
	else
		reader->at += size;
}

const char *cfi_read_string(struct cfi_reader *reader)
{
	const char *text = (const char *)reader->at;
	size_t left = bytes_left(reader);
	const uint8_t *nul =
		memchr(reader->at, 0, left < STRING_BYTES_MAX ? left : STRING_BYTES_MAX);

	if (!nul) {
		fail(reader);
		return NULL;
	}
	reader->at = nul + 1;
	return text;
}

struct cfi_reader cfi_read_part(struct cfi_reader *reader, uint64_t size)
{
	struct cfi_reader part = *reader;

	cfi_skip(reader, size);
	part.end = reader->failed ? part.at : reader->at;
	part.failed = reader->failed;
	return part;
}

/* Storage of each pointer format. LEB128 and undefined formats have no width. */
static const struct pointer_format {
	uint8_t width;
	bool is_signed;
} pointer_formats[16] = {
	[DW_EH_PE_udata2] = {2, false}, [DW_EH_PE_udata4] = {4, false},
	[DW_EH_PE_udata8] = {8, false}, [DW_EH_PE_sdata2] = {2, true},
	[DW_EH_PE_sdata4] = {4, true},  [DW_EH_PE_sdata8] = {8, true},
};

static uint64_t sign_extend(uint64_t value, unsigned int width)
{
	uint64_t sign = 1ULL << (8 * width - 1);

	return (value ^ sign) - sign;
}

static uint64_t read_format(struct cfi_reader *reader, const struct cfi_pointer_base *base,
			    uint8_t encoding)
{
	const struct pointer_format *format = &pointer_formats[ENCODING_FORMAT(encoding)];
	uint64_t value;

	switch (ENCODING_FORMAT(encoding)) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_signed: /* of address size: nothing to sign-extend */
		return cfi_read_fixed(reader, base->address_size);
	case DW_EH_PE_uleb128:
		return cfi_read_uleb(reader);
	case DW_EH_PE_sleb128:
		return (uint64_t)cfi_read_sleb(reader);
	}
	if (!format->width) {
		fail(reader);
		return 0;
	}
	value = cfi_read_fixed(reader, format->width);
	return format->is_signed ? sign_extend(value, format->width) : value;
}

static uint64_t address_here(const struct cfi_reader *reader, const struct cfi_pointer_base *base)
{
	return base->vaddr + (uint64_t)(reader->at - base->bytes);
}

/* The base to add to the value that is read next. */
static uint64_t relation(struct cfi_reader *reader, const struct cfi_pointer_base *base,
			 uint8_t encoding)
{
	switch (ENCODING_RELATION(encoding)) {
	case DW_EH_PE_absptr:
		return 0;
	case DW_EH_PE_pcrel:
		return address_here(reader, base);
	case DW_EH_PE_textrel:
		if (base->text)
			return base->text;
		break;
	case DW_EH_PE_datarel:
		if (base->data)
			return base->data;
		break;
	case DW_EH_PE_aligned:
		cfi_skip(reader, -address_here(reader, base) & (base->address_size - 1));
		return 0;
	}
	fail(reader);
	return 0;
}

uint64_t cfi_read_pointer(struct cfi_reader *reader, const struct cfi_pointer_base *base,
			  uint8_t encoding)
{
	uint64_t value;

	if (encoding == DW_EH_PE_omit || encoding & DW_EH_PE_indirect) {
		fail(reader);
		return 0;
	}
	value = relation(reader, base, encoding);
	value += read_format(reader, base, encoding);
	return base->address_size == 4 ? (uint32_t)value : value;
}
