// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/stream/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 256

void fixed_put(uint8_t *bytes, uint64_t value, size_t width)
{
	for (size_t i = 0; i < width; i++, value >>= 8)
		bytes[i] = (uint8_t)value;
}

void pack_free(struct pack *pack)
{
	free(pack->bytes);
	*pack = (struct pack){0};
}

int pack_grow(struct pack *pack, size_t more)
{
	size_t capacity = pack->capacity ? pack->capacity : CAPACITY_FIRST;
	uint8_t *bytes;

	while (capacity - pack->count < more)
		capacity *= 2;
	bytes = pack->err ? NULL : realloc(pack->bytes, capacity);
	if (!bytes) {
		pack->err = -ENOMEM;
		return -ENOMEM;
	}
	pack->bytes = bytes;
	pack->capacity = capacity;
	return 0;
}

void pack_bytes(struct pack *pack, const void *bytes, size_t size)
{
	if (!size || !pack_has_room(pack, size))
		return;
	memcpy(pack->bytes + pack->count, bytes, size);
	pack->count += size;
}

void pack_fixed(struct pack *pack, uint64_t value, size_t width)
{
	if (!pack_has_room(pack, width))
		return;
	fixed_put(pack->bytes + pack->count, value, width);
	pack->count += width;
}

void pack_text(struct pack *pack, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	pack_number(pack, size);
	pack_bytes(pack, text, size);
}

uint64_t unpack_fixed(struct unpack *view, size_t width)
{
	uint64_t value = 0;

	for (size_t i = 0; i < width; i++)
		value |= (uint64_t)unpack_byte(view) << 8 * i;
	return view->bad ? 0 : value;
}

uint64_t fixed_get(const uint8_t *bytes, size_t width)
{
	struct unpack view = {.at = bytes, .end = bytes + width};

	return unpack_fixed(&view, width);
}

uint64_t unpack_bounded(struct unpack *view, uint64_t max)
{
	uint64_t value = unpack_number(view);

	if (value <= max)
		return value;
	view->bad = true;
	return 0;
}

void unpack_bytes(struct unpack *view, void *ret_bytes, size_t size)
{
	if (unpack_left(view) < size) {
		view->bad = true;
		memset(ret_bytes, 0, size);
		return;
	}
	memcpy(ret_bytes, view->at, size);
	view->at += size;
}

const char *unpack_text(struct unpack *view)
{
	uint64_t size = unpack_bounded(view, unpack_left(view));
	const char *text = (const char *)view->at;

	if (view->bad || !size)
		return NULL;
	if (size > unpack_left(view) || memchr(text, 0, size) != text + size - 1) {
		view->bad = true;
		return NULL;
	}
	view->at += size;
	return text;
}
