// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of a MALLOC_TRACE log. */
#include "fuzz.h"

#include <string.h>

#include "source/stream/malloc_log.h"

static void try_line(const char *line, size_t length)
{
	struct malloc_log_line parsed;
	char *copy = malloc(length + 1); /* exact size: a read past the end is detected */

	require(copy, "there is memory");
	memcpy(copy, line, length);
	copy = realloc(copy, length ? length : 1);
	if (!malloc_log_parse(copy, length, &parsed)) {
		require(parsed.kind <= MALLOC_LOG_FAILED, "a line is one");
		require(!parsed.object || (parsed.object > copy && parsed.object_length &&
					   parsed.object + parsed.object_length < copy + length),
			"an object is in its line");
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *line = (const char *)data, *end = line + size, *next;

	for (; line < end; line = next + 1) {
		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			next = end;
		try_line(line, (size_t)(next - line));
	}
	return 0;
}
