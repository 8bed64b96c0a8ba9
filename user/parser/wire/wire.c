// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/wire/wire.h"

#include <errno.h>
#include <string.h>

#include "base/vec.h"

#define NO_STRING UINT32_MAX

void wire_put(struct wire *wire, const void *bytes, size_t size)
{
	if (wire->failed || vec_reserve(wire, wire->count + size)) {
		wire->failed = true;
		return;
	}
	if (size)
		memcpy(wire->items + wire->count, bytes, size);
	wire->count += size;
}

void wire_put_u8(struct wire *wire, uint8_t value)
{
	wire_put(wire, &value, sizeof(value));
}

void wire_put_u32(struct wire *wire, uint32_t value)
{
	wire_put(wire, &value, sizeof(value));
}

void wire_put_u64(struct wire *wire, uint64_t value)
{
	wire_put(wire, &value, sizeof(value));
}

/* Includes the terminator, so that the string can be used in place. */
void wire_put_string(struct wire *wire, const char *text, size_t max)
{
	size_t length = text ? strnlen(text, max) : 0;

	if (!text) {
		wire_put_u32(wire, NO_STRING);
		return;
	}
	wire_put_u32(wire, (uint32_t)length);
	wire_put(wire, text, length);
	wire_put_u8(wire, 0);
}

void wire_free(struct wire *wire)
{
	vec_free(wire);
}

struct wire_view wire_view(const struct wire *wire)
{
	return (struct wire_view){.at = wire->items, .end = wire->items + wire->count};
}

const void *wire_take(struct wire_view *view, size_t size)
{
	const void *bytes = view->at;

	if (view->failed || size > (size_t)(view->end - view->at)) {
		view->failed = true;
		return NULL;
	}
	view->at += size;
	return bytes;
}

static void take_value(struct wire_view *view, void *ret, size_t size)
{
	const void *bytes = wire_take(view, size);

	if (bytes)
		memcpy(ret, bytes, size);
}

uint8_t wire_take_u8(struct wire_view *view)
{
	uint8_t value = 0;

	take_value(view, &value, sizeof(value));
	return value;
}

bool wire_take_bool(struct wire_view *view)
{
	uint8_t value = wire_take_u8(view);

	if (value > 1)
		view->failed = true;
	return value == 1;
}

uint32_t wire_take_u32(struct wire_view *view)
{
	uint32_t value = 0;

	take_value(view, &value, sizeof(value));
	return value;
}

uint32_t wire_take_u32_max(struct wire_view *view, uint32_t max)
{
	uint32_t value = wire_take_u32(view);

	if (value <= max)
		return value;
	view->failed = true;
	return 0;
}

uint64_t wire_take_u64(struct wire_view *view)
{
	uint64_t value = 0;

	take_value(view, &value, sizeof(value));
	return value;
}

const char *wire_take_string(struct wire_view *view, size_t max)
{
	uint32_t length = wire_take_u32(view);
	const char *text;

	if (view->failed || length == NO_STRING)
		return NULL;
	text = length <= max ? wire_take(view, (size_t)length + 1) : NULL;
	if (text && strnlen(text, (size_t)length + 1) == length)
		return text;
	view->failed = true;
	return NULL;
}

int wire_finish(const struct wire_view *view)
{
	return view->failed || view->at != view->end ? -EBADMSG : 0;
}
