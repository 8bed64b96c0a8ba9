/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This file reads only the punctuation of the outer objects and arrays. json-c reads keys and
 * values, and finds where they end. It needs many times the size of the text, so the memory of a
 * value is estimated before json-c gets the text.
 */
#include "app/report/json_input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX    (512ULL << 20)
#define MEMORY_MAX   (32ULL << 20) /* of one value */
#define OBJECT_BYTES 800           /* of memory, as json-c 0.16 allocates it */
#define ARRAY_BYTES  400
#define VALUE_BYTES  100
#define TEXT_BYTES   4 /* for each byte: a buffer that doubles, and copies */
#define PIECE_BYTES  65536

struct json_input {
	json_tokener *tokener;
	int fd;
	uint64_t bytes; /* read so far */
	const char *at, *end;
	char piece[PIECE_BYTES];
};

/* The state of a value that was read in part. */
struct extent {
	uint64_t memory;
	int depth;
	bool in_string, escaped;
};

int json_input_open(struct json_input **ret_input, int fd)
{
	struct json_input *input;
	struct stat stat;

	if (fstat(fd, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode) && !S_ISFIFO(stat.st_mode))
		return S_ISDIR(stat.st_mode) ? -EINVAL : -ENOTSUP;
	input = calloc(1, sizeof(*input));
	if (!input)
		return -ENOMEM;
	input->fd = fd;
	input->tokener = json_tokener_new();
	if (!input->tokener) {
		free(input);
		return -ENOMEM;
	}
	/* Single quotes and comments, which json-c accepts otherwise, would mislead the estimate.
	 */
	json_tokener_set_flags(input->tokener,
			       JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
	*ret_input = input;
	return 0;
}

void json_input_close(struct json_input *input)
{
	if (!input)
		return;
	json_tokener_free(input->tokener);
	free(input);
}

/* Reads more text. What follows the document is never needed, so an end of file is an error. */
static int read_piece(struct json_input *input)
{
	ssize_t size;

	do
		size = read(input->fd, input->piece, sizeof(input->piece));
	while (size < 0 && errno == EINTR);
	if (size <= 0)
		return size ? -errno : -EINVAL;
	input->bytes += (uint64_t)size;
	input->at = input->piece;
	input->end = input->piece + size;
	return input->bytes > BYTES_MAX ? -EFBIG : 0;
}

static bool is_space(char character)
{
	return character == ' ' || character == '\n' || character == '\t' || character == '\r';
}

int json_input_peek(struct json_input *input)
{
	for (;;) {
		int err;

		for (; input->at < input->end; input->at++)
			if (!is_space(*input->at))
				return (unsigned char)*input->at;
		err = read_piece(input);
		if (err)
			return err;
	}
}

static int take(struct json_input *input)
{
	int next = json_input_peek(input);

	if (next >= 0)
		input->at++;
	return next;
}

/* ---- values ---- */

static uint64_t cost_of(char character)
{
	switch (character) {
	case '{':
		return OBJECT_BYTES;
	case '[':
		return ARRAY_BYTES;
	case ',':
		return VALUE_BYTES;
	default:
		return 0;
	}
}

/* Returns true if the character is the last one of the value, or the first one that follows it. */
static bool ends_value(struct extent *extent, char character)
{
	switch (character) {
	case '{':
	case '[':
		extent->depth++;
		return false;
	case '}':
	case ']':
		return --extent->depth <= 0;
	default:
		return character == ',' && !extent->depth;
	}
}

/* Returns how much of the text to pass to json-c. It must contain the end of the value, if that is
 * there, but may contain more. */
static size_t measure(struct extent *extent, const char *text, size_t size)
{
	size_t i = 0;
	bool ended = false;

	while (i < size && !ended) {
		char character = text[i++];

		if (extent->escaped) {
			extent->escaped = false;
		} else if (character == '"') {
			extent->in_string = !extent->in_string;
		} else if (extent->in_string) {
			extent->escaped = character == '\\';
		} else {
			extent->memory += cost_of(character);
			ended = ends_value(extent, character);
		}
	}
	extent->memory += i * TEXT_BYTES;
	return i;
}

int json_input_value(struct json_input *input, json_object **ret_value)
{
	struct extent extent = {0};
	int err = json_input_peek(input);

	while (err >= 0) {
		json_object *value;
		size_t size = measure(&extent, input->at, (size_t)(input->end - input->at));

		if (extent.memory > MEMORY_MAX)
			return -EFBIG;
		value = json_tokener_parse_ex(input->tokener, input->at, (int)size);
		switch (json_tokener_get_error(input->tokener)) {
		case json_tokener_success:
			input->at += json_tokener_get_parse_end(input->tokener);
			*ret_value = value;
			return 0;
		case json_tokener_continue:
			err = read_piece(input);
			break;
		default:
			return -EINVAL;
		}
	}
	return err;
}

/* ---- objects and arrays ---- */

static int read_member(struct json_input *input, json_input_item *item, void *ctx)
{
	json_object *key = NULL;
	int next, err = json_input_value(input, &key);

	if (err)
		return err;
	next = json_object_is_type(key, json_type_string) ? take(input) : -EINVAL;
	if (next == ':')
		err = item(input, json_object_get_string(key), ctx);
	else
		err = next < 0 ? next : -EINVAL;
	json_object_put(key);
	return err;
}

int json_input_each(struct json_input *input, json_input_item *item, void *ctx)
{
	int open = take(input), next = json_input_peek(input), err;
	int close = open == '{' ? '}' : ']';

	if (open != '{' && open != '[')
		return open < 0 ? open : -EINVAL;
	if (next == close) {
		input->at++;
		return 0;
	}
	do {
		err = open == '{' ? read_member(input, item, ctx) : item(input, NULL, ctx);
		if (err)
			return err;
		next = take(input);
	} while (next == ',');
	if (next < 0)
		return next;
	return next == close ? 0 : -EINVAL;
}

static int drop(struct json_input *input, const char *key, void *ctx)
{
	json_object *value;
	int err = json_input_value(input, &value);

	(void)key;
	(void)ctx;
	if (!err)
		json_object_put(value);
	return err;
}

/* Even a large array is no problem if its elements are dropped one at a time. */
int json_input_skip(struct json_input *input)
{
	int next = json_input_peek(input);

	return next == '[' || next == '{' ? json_input_each(input, drop, NULL)
					  : drop(input, NULL, NULL);
}
