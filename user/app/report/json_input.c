/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json-c needs many times the size of the text, so the memory is estimated from the text before it
 * is parsed, piece by piece.
 */
#include "app/report/json_input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX    (512ULL << 20)
#define MEMORY_MAX   (5ULL << 29) /* 2.5 GiB */
#define OBJECT_BYTES 800          /* of memory, as json-c 0.16 allocates it */
#define ARRAY_BYTES  400
#define VALUE_BYTES  100
#define PIECE_BYTES  65536

struct json_input {
	json_tokener *tokener;
	json_object *document;
	uint64_t bytes, memory;
	bool in_string, escaped;
};

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

static void estimate(struct json_input *input, const char *piece, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (input->escaped)
			input->escaped = false;
		else if (input->in_string && piece[i] == '\\')
			input->escaped = true;
		else if (piece[i] == '"')
			input->in_string = !input->in_string;
		else if (!input->in_string)
			input->memory += cost_of(piece[i]);
	}
}

static int parse_piece(struct json_input *input, const char *piece, size_t size)
{
	input->bytes += size;
	estimate(input, piece, size);
	if (input->bytes > BYTES_MAX || input->memory > MEMORY_MAX)
		return -EFBIG;
	input->document = json_tokener_parse_ex(input->tokener, piece, (int)size);
	if (input->document)
		return 0;
	return json_tokener_get_error(input->tokener) == json_tokener_continue ? 0 : -EINVAL;
}

/* What follows the document is not read. */
static int read_pieces(struct json_input *input, int fd)
{
	char piece[PIECE_BYTES];

	while (!input->document) {
		ssize_t size = read(fd, piece, sizeof(piece));
		int code;

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return size ? -errno : -EINVAL;
		code = parse_piece(input, piece, (size_t)size);
		if (code)
			return code;
	}
	return 0;
}

int json_input_read(json_object **ret_document, int fd)
{
	struct json_input input = {0};
	struct stat stat;
	int code;

	if (fstat(fd, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode) && !S_ISFIFO(stat.st_mode))
		return S_ISDIR(stat.st_mode) ? -EINVAL : -ENOTSUP;
	input.tokener = json_tokener_new();
	if (!input.tokener)
		return -ENOMEM;
	/* Single quotes, which json-c accepts otherwise, would mislead the estimate. */
	json_tokener_set_flags(input.tokener,
			       JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
	code = read_pieces(&input, fd);
	json_tokener_free(input.tokener);
	if (!code)
		*ret_document = input.document;
	return code;
}
