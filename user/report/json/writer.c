/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/writer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "report/common/glyph.h"

#define INDENT_COLUMNS 2
#define REPLACEMENT    0xfffd

static void write_line_break(struct json_writer *writer)
{
	static const char text[] = "\n                        ";

	_Static_assert(sizeof(text) > 1 + JSON_DEPTH_MAX * INDENT_COLUMNS,
		       "the deepest level fits");
	out_bytes(&writer->out, text, 1 + writer->indent * INDENT_COLUMNS);
}

static void write_separator(struct json_writer *writer)
{
	struct json_level *level;

	if (!writer->depth)
		return;
	level = &writer->levels[writer->depth - 1];
	if (level->used)
		out_text(&writer->out, level->layout == JSON_LINES ? "," : ", ");
	level->used = true;
	if (level->layout == JSON_LINES)
		write_line_break(writer);
}

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
			return false;
	return true;
}

static void write_code(struct json_writer *writer, uint32_t code)
{
	char text[16];

	if (code > 0xffff)
		snprintf(text, sizeof(text), "\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
			 0xdc00 + (code & 0x3ff));
	else
		snprintf(text, sizeof(text), "\\u%04x", code);
	out_text(&writer->out, text);
}

/*
 * json-c does not escape invalid UTF-8 or non-ASCII control characters. Escape both here, because
 * the output may be shown on a terminal.
 */
static void write_safely(struct json_writer *writer, const char *escaped)
{
	uint32_t code;

	while (*escaped) {
		size_t length = utf8_decode(escaped, &code);

		if (length && !utf8_hidden(code))
			out_bytes(&writer->out, escaped, length);
		else
			write_code(writer, length ? code : REPLACEMENT);
		escaped += length ? length : 1;
	}
}

static int write_escaped(struct json_writer *writer, const char *text)
{
	struct json_object *string = json_object_new_string(text);
	const char *escaped = NULL;

	if (string)
		escaped = json_object_to_json_string_ext(string, JSON_C_TO_STRING_NOSLASHESCAPE);
	if (escaped)
		write_safely(writer, escaped);
	json_object_put(string);
	return escaped ? 0 : -ENOMEM;
}

static void write_string(struct json_writer *writer, const char *text)
{
	if (!is_plain(text)) {
		int err = write_escaped(writer, text);

		if (err)
			out_fail(&writer->out, err);
		return;
	}
	out_text(&writer->out, "\"");
	out_text(&writer->out, text);
	out_text(&writer->out, "\"");
}

static void write_key(struct json_writer *writer, const char *key)
{
	write_separator(writer);
	if (!key)
		return;
	write_string(writer, key);
	out_text(&writer->out, ": ");
}

static void open_level(struct json_writer *writer, const char *key, const char *brackets,
		       enum json_layout layout)
{
	assert(writer->depth < JSON_DEPTH_MAX);
	write_key(writer, key);
	out_bytes(&writer->out, brackets, 1);
	writer->levels[writer->depth++] = (struct json_level){layout, brackets[1], false};
	writer->indent += layout == JSON_LINES;
}

void json_open_object(struct json_writer *writer, const char *key, enum json_layout layout)
{
	open_level(writer, key, "{}", layout);
}

void json_open_array(struct json_writer *writer, const char *key, enum json_layout layout)
{
	open_level(writer, key, "[]", layout);
}

void json_close(struct json_writer *writer)
{
	struct json_level *level;

	assert(writer->depth);
	level = &writer->levels[--writer->depth];
	writer->indent -= level->layout == JSON_LINES;
	if (level->layout == JSON_LINES && level->used)
		write_line_break(writer);
	out_bytes(&writer->out, &level->close, 1);
}

void json_put_string(struct json_writer *writer, const char *key, const char *value)
{
	write_key(writer, key);
	write_string(writer, value ? value : "");
}

void json_put_number(struct json_writer *writer, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	json_put_literal(writer, key, text);
}

void json_put_address(struct json_writer *writer, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "\"0x%" PRIx64 "\"", value);
	json_put_literal(writer, key, text);
}

void json_put_rendered(struct json_writer *writer, const char *text, size_t length)
{
	write_separator(writer);
	out_bytes(&writer->out, text, length);
}

void json_put_bool(struct json_writer *writer, const char *key, bool value)
{
	json_put_literal(writer, key, value ? "true" : "false");
}

void json_put_literal(struct json_writer *writer, const char *key, const char *value)
{
	write_key(writer, key);
	out_text(&writer->out, value);
}
