/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers and words as bytes, the same on every machine: fixed numbers little-endian, others in
 * groups of seven bits, the lowest first, each but the last with bit 7 set (LEB128). Differences
 * are folded so that small ones of either sign are short: 0, -1, 1, -2 … become 0, 1, 2, 3 …
 *
 * Both sides remember their first failure, so that only the end has to be asked.
 */
#ifndef MTRACE_NET_STREAM_PACK_H
#define MTRACE_NET_STREAM_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_NUMBER_MAX 10 /* bytes of a number */

/* A fixed number alone, where there is room for it. */
void fixed_put(uint8_t *bytes, uint64_t value, size_t width);
uint64_t fixed_get(const uint8_t *bytes, size_t width);

/* Zeroed memory is empty. */
struct pack {
	uint8_t *bytes;
	size_t count;
	size_t capacity;
	int err; /* -ENOMEM: something is missing */
};

void pack_free(struct pack *pack);
/* Room for so many more bytes: 0 or -ENOMEM, which is remembered. */
int pack_grow(struct pack *pack, size_t more);
void pack_bytes(struct pack *pack, const void *bytes, size_t size);
void pack_fixed(struct pack *pack, uint64_t value, size_t width);
/* The length with its NUL, and the bytes with it; NULL is a length of 0. */
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

/* From the last one, which becomes this one. */
static inline void pack_difference(struct pack *pack, uint64_t value, uint64_t *last)
{
	uint64_t difference = value - *last;

	pack_number(pack, difference << 1 ^ (difference >> 63 ? ~0ULL : 0));
	*last = value;
}

/* Bytes that somebody else has packed, and may not be what they should. */
struct unpack {
	const uint8_t *at;
	const uint8_t *end;
	bool bad; /* there was less than asked for, or no sense in it: all since is 0 */
};

static inline size_t unpack_left(const struct unpack *view)
{
	return (size_t)(view->end - view->at);
}

uint64_t unpack_fixed(struct unpack *view, size_t width);
/* Points into the bytes; NULL if there was none. */
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

/* A number that must not be larger. */
uint64_t unpack_bounded(struct unpack *view, uint64_t max);

static inline uint64_t unpack_difference(struct unpack *view, uint64_t *last)
{
	uint64_t folded = unpack_number(view);

	*last += folded >> 1 ^ (folded & 1 ? ~0ULL : 0);
	return *last;
}

#endif
