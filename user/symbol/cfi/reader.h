/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cursor over the bytes of a file. Reading past the end returns 0 and sets `failed`, which stays
 * set, so a parser can read a group of fields and check once.
 */
#ifndef MTRACE_SYMBOL_CFI_READER_H
#define MTRACE_SYMBOL_CFI_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool big_endian;
	bool failed;
};

static inline bool cfi_reader_is_empty(const struct cfi_reader *reader)
{
	return reader->at == reader->end;
}

static inline uint8_t cfi_read_byte(struct cfi_reader *reader)
{
	if (reader->at == reader->end) {
		reader->failed = true;
		return 0;
	}
	return *reader->at++;
}

uint64_t cfi_read_fixed(struct cfi_reader *reader, unsigned int width); /* 1, 2, 4 or 8 bytes */
uint64_t cfi_read_long_uleb(struct cfi_reader *reader);
int64_t cfi_read_sleb(struct cfi_reader *reader);
void cfi_skip(struct cfi_reader *reader, uint64_t size);
/* Returns a string inside the file; NULL (and `failed`) if it has no terminating NUL or is too
 * long. */
const char *cfi_read_string(struct cfi_reader *reader);
/* Returns a reader for the next `size` bytes, and skips them. */
struct cfi_reader cfi_read_part(struct cfi_reader *reader, uint64_t size);

/* Fast path: most numbers have one byte. */
static inline uint64_t cfi_read_uleb(struct cfi_reader *reader)
{
	if (reader->at != reader->end && *reader->at < 0x80)
		return *reader->at++;
	return cfi_read_long_uleb(reader);
}

/* The bases of encoded pointers (DW_EH_PE_…; Linux Standard Base Core 5.0, 10.5.1). */
struct cfi_pointer_base {
	const uint8_t *bytes; /* of the section */
	uint64_t vaddr;
	uint64_t text;
	uint64_t data;
	uint8_t address_size; /* 4 or 8 */
};

/*
 * Reads an encoded pointer. Fails if its base is not known here, and for indirect pointers, which
 * function addresses never are.
 */
uint64_t cfi_read_pointer(struct cfi_reader *reader, const struct cfi_pointer_base *base,
			  uint8_t encoding);

#endif
