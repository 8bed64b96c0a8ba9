/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers and strings as bytes, the same on every machine. Fixed-width numbers are little-endian.
 * Others consist of groups of seven bits, lowest first; bit 7 is set in all but the last (LEB128).
 * Differences are zigzag-encoded, so that small ones of either sign are short: 0, -1, 1, -2 …
 * become 0, 1, 2, 3 …
 *
 * Both sides remember their first failure, so it is enough to check for errors at the end.
 */
#ifndef MTRACE_NET_STREAM_PACK_H
#define MTRACE_NET_STREAM_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_NUMBER_MAX 10 /* maximum number of bytes of a number */

/* A single fixed-width number, in an existing buffer. */
void fixed_put(uint8_t *bytes, uint64_t value, size_t width);
uint64_t fixed_get(const uint8_t *bytes, size_t width);

/* An all-zero pack is empty. */
struct pack {
	uint8_t *bytes;
	size_t count;
	size_t capacity;
	int err; /* -ENOMEM: data is missing */
};

void pack_free(struct pack *pack);
/* Makes room for `more` bytes. Returns 0 or -ENOMEM, and remembers the error. */
int pack_grow(struct pack *pack, size_t more);
void pack_bytes(struct pack *pack, const void *bytes, size_t size);
void pack_fixed(struct pack *pack, uint64_t value, size_t width);
/* Packs the length including the NUL, and the bytes including the NUL. NULL has length 0. */
void pack_text(struct pack *pack, const char *text);

static inline bool pack_has_room(struct pack *pack, size_t more)
{
	return pack->capacity - pack->count >= more || !pack_grow(pack, more);
}

static inline void pack_byte(struct pack *pack, unsigned int value)
{
	if (pack_has_room(pack, 1))
		pack->bytes[pack->count++] = (uint8_t)value;
}

static inline void pack_number(struct pack *pack, uint64_t value)
{
	if (!pack_has_room(pack, PACK_NUMBER_MAX))
		return;
	for (; value > 0x7f; value >>= 7)
		pack->bytes[pack->count++] = (uint8_t)(value | 0x80);
	pack->bytes[pack->count++] = (uint8_t)value;
}

/* Packs the difference to *last and sets *last to the value. */
static inline void pack_difference(struct pack *pack, uint64_t value, uint64_t *last)
{
	uint64_t difference = value - *last;

	pack_number(pack, difference << 1 ^ (difference >> 63 ? ~0ULL : 0));
	*last = value;
}

/* Packed bytes from someone else, which may be malformed. */
struct unpack {
	const uint8_t *at;
	const uint8_t *end;
	bool bad; /* too short or malformed: all values since then are 0 */
};

static inline size_t unpack_left(const struct unpack *view)
{
	return (size_t)(view->end - view->at);
}

uint64_t unpack_fixed(struct unpack *view, size_t width);
/* Returns a pointer into the bytes; NULL if there is no string. */
const char *unpack_text(struct unpack *view);
void unpack_bytes(struct unpack *view, void *ret_bytes, size_t size);

static inline uint8_t unpack_byte(struct unpack *view)
{
	if (view->at < view->end)
		return *view->at++;
	view->bad = true;
	return 0;
}

static inline uint64_t unpack_number(struct unpack *view)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = unpack_byte(view);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	view->bad = true;
	return 0;
}

/* Unpacks a number that must not exceed `max`. */
uint64_t unpack_bounded(struct unpack *view, uint64_t max);

static inline uint64_t unpack_difference(struct unpack *view, uint64_t *last)
{
	uint64_t folded = unpack_number(view);

	*last += folded >> 1 ^ (folded & 1 ? ~0ULL : 0);
	return *last;
}

#endif
