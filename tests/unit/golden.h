/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares reports with tests/golden; UPDATE_GOLDEN=1 rewrites those files. Run from the root of
 * the tree. Also checks what holds for every text report.
 */
#ifndef MTRACE_TEST_GOLDEN_H
#define MTRACE_TEST_GOLDEN_H

#include <errno.h>
#include <stdlib.h>
#include <wchar.h>

#include "tests/unit/render.h"

struct golden {
	const char *file;
	const struct report_format *format;
	const struct snapshot *snapshot;
	struct format_options options;
};

static inline char *read_whole(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!in)
		fail_msg("%s: %s (run from the root of the tree)", path, strerror(errno));
	if (getdelim(&text, &size, '\0', in) < 0)
		fail_msg("%s is empty", path);
	fclose(in);
	return text;
}

static inline void update_golden(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

/* Frees the text. */
static inline void check_golden_text(char *text, const char *file)
{
	char path[128];
	char *expected;

	snprintf(path, sizeof(path), "tests/golden/%s", file);
	if (getenv("UPDATE_GOLDEN"))
		update_golden(path, text);
	expected = read_whole(path);
	if (strcmp(text, expected))
		fail_msg("%s differs; now it is:\n%s", path, text);
	free(expected);
	free(text);
}

static inline void check_golden(const struct golden *golden)
{
	check_golden_text(render(golden->format, golden->snapshot, &golden->options), golden->file);
}

/* Columns as the C library counts them, without our escape sequences. */
static inline size_t line_columns(const char *line, size_t length)
{
	mbstate_t state = {0};
	size_t columns = 0;

	while (length) {
		wchar_t wide;
		size_t taken;

		if (*line == '\x1b') {
			taken = strcspn(line, "m") + 1;
		} else {
			taken = mbrtowc(&wide, line, length, &state);
			assert_true(taken <= length);
			assert_true(wcwidth(wide) >= 0);
			columns += (size_t)wcwidth(wide);
		}
		line += taken;
		length -= taken;
	}
	return columns;
}

static inline bool for_grep(const char *line)
{
	return !strncmp(line, "SUMMARY: ", 9) || !strncmp(line, "TOTAL: ", 7);
}

static inline void check_lines(const char *text, const struct format_options *options)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		assert_int_equal(text[length], '\n');
		if (!for_grep(text) && line_columns(text, length) > options->width)
			fail_msg("wider than %u: %.*s", options->width, (int)length, text);
		if (length)
			assert_int_not_equal(text[length - 1], ' ');
		text += length + 1;
	}
}

static inline void check_bytes(const char *text, const struct format_options *options)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		assert_true(byte >= ' ' || byte == '\n' || (byte == 0x1b && options->color));
		assert_true(byte != 0x7f && (byte < 0x80 || options->utf8));
		if (byte == 0x1b)
			assert_true(strspn(text + 1, "[0123456789;") > 1 &&
				    text[1 + strspn(text + 1, "[0123456789;")] == 'm');
	}
}

#endif
