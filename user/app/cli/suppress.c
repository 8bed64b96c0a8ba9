/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/cli/suppress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "model/suppress/parse.h"
#include "symbol/names/demangle.h"

#define FILE_MAX (16u << 20)

/* Reads all of it. Returns 0 or -errno. Works with pipes: --suppressions <(…). */
static int stream_read(FILE *stream, char *text, size_t *ret_size)
{
	size_t size = fread(text, 1, FILE_MAX, stream);

	if (ferror(stream))
		return errno ? -errno : -EIO;
	if (size == FILE_MAX)
		return -EFBIG;
	*ret_size = size;
	return 0;
}

static int file_read(const char *path, char *text, size_t *ret_size)
{
	FILE *stream = fopen(path, "re");
	int code;

	if (!stream)
		return -errno;
	code = stream_read(stream, text, ret_size);
	fclose(stream);
	return code;
}

static void warn_of_mangled(const char *path, size_t count)
{
	if (count)
		log_warn("%s: %zu suppression%s a mangled C++ name with wildcards, which matches "
			 "nothing: write the name as reports show it",
			 path, count, count == 1 ? " has" : "s have");
}

int suppress_read_file(struct suppressions *suppressions, const char *path, struct error *err)
{
	struct suppression_text file = {.name = path, .demangle = demangle};
	size_t mangled = suppressions_mangled(suppressions);
	char *text = malloc(FILE_MAX);
	int code;

	if (!text)
		return -ENOMEM;
	code = file_read(path, text, &file.size);
	if (code) {
		error_set_errno(err, code, "cannot read %s", path);
	} else {
		file.text = text;
		code = suppressions_parse(suppressions, &file, err);
	}
	free(text);
	if (!code)
		warn_of_mangled(path, suppressions_mangled(suppressions) - mangled);
	return code;
}
