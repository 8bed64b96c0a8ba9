/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/pprof/proto.h"

#include <errno.h>
#include <string.h>

#define TYPE_NUMBER 0
#define TYPE_BYTES  2
#define VARINT_MAX  10

static size_t encode(uint64_t number, char bytes[VARINT_MAX])
{
	size_t size = 0;

	for (; number >> 7; number >>= 7)
		bytes[size++] = (char)(number | 0x80);
	bytes[size++] = (char)number;
	return size;
}

static void put(struct proto *proto, const void *bytes, size_t size)
{
	if (!proto->err && size)
		proto->err = vec_append(&proto->bytes, (const char *)bytes, size);
}

static void put_varint(struct proto *proto, uint64_t number)
{
	char bytes[VARINT_MAX];

	put(proto, bytes, encode(number, bytes));
}

void proto_number(struct proto *proto, uint32_t field, uint64_t number)
{
	if (!number)
		return;
	put_varint(proto, (uint64_t)field << 3 | TYPE_NUMBER);
	put_varint(proto, number);
}

void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t size)
{
	put_varint(proto, (uint64_t)field << 3 | TYPE_BYTES);
	put_varint(proto, size);
	put(proto, bytes, size);
}

void proto_text(struct proto *proto, uint32_t field, const char *text)
{
	proto_bytes(proto, field, text, strlen(text));
}

void proto_message(struct proto *proto, uint32_t field, const struct proto *message)
{
	if (message->err)
		proto->err = message->err;
	else
		proto_bytes(proto, field, message->bytes.items, message->bytes.count);
}

void proto_numbers(struct proto *proto, uint32_t field, const uint64_t *numbers, size_t count)
{
	char bytes[VARINT_MAX];
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += encode(numbers[i], bytes);
	put_varint(proto, (uint64_t)field << 3 | TYPE_BYTES);
	put_varint(proto, size);
	for (size_t i = 0; i < count; i++)
		put_varint(proto, numbers[i]);
}

void proto_clear(struct proto *proto)
{
	proto->bytes.count = 0;
	proto->err = 0;
}

void proto_free(struct proto *proto)
{
	vec_free(&proto->bytes);
}
