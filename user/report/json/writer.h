/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON incrementally and keeps only the nesting, so a report may be larger than memory.
 * json-c does the escaping. Each byte that is not valid UTF-8 becomes U+FFFD.
 */
#ifndef MTRACE_REPORT_JSON_WRITER_H
#define MTRACE_REPORT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "report/common/out.h"

#define JSON_DEPTH_MAX 12

/* How the members of an array or object are laid out. */
enum json_layout {
	JSON_LINES, /* each on its own line */
	JSON_INLINE,
};

struct json_level {
	enum json_layout layout;
	char close;
	bool used; /* has a member */
};

struct json_writer {
	struct out out;
	struct json_level levels[JSON_DEPTH_MAX];
	size_t depth;
	size_t indent; /* number of open levels with JSON_LINES layout */
};

/* In all of these, key is NULL for an array element and for the document itself. */
void json_open_object(struct json_writer *writer, const char *key, enum json_layout layout);
void json_open_array(struct json_writer *writer, const char *key, enum json_layout layout);
void json_close(struct json_writer *writer); /* closes the innermost array or object */

void json_put_string(struct json_writer *writer, const char *key,
		     const char *value); /* NULL is written as "" */
void json_put_number(struct json_writer *writer, const char *key, uint64_t value);
void json_put_address(struct json_writer *writer, const char *key, uint64_t value);
void json_put_bool(struct json_writer *writer, const char *key, bool value);
/* A value that another writer rendered. */
void json_put_rendered(struct json_writer *writer, const char *text, size_t length);
/* A value to write verbatim: "null", "0.0". */
void json_put_literal(struct json_writer *writer, const char *key, const char *value);

#endif
