/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a JSON document piece by piece, so that a large one needs little memory. The caller walks
 * through the outer objects and arrays and gets the values in them one at a time. The size of the
 * document and the memory of each value are limited: a file may come from anywhere.
 *
 * Functions return 0 or -errno: -EINVAL if the text is no JSON, -EFBIG if it is too large. After an
 * error, the input can only be closed.
 */
#ifndef MTRACE_APP_REPORT_JSON_INPUT_H
#define MTRACE_APP_REPORT_JSON_INPUT_H

#include <json-c/json.h>

struct json_input;

/* Reads a regular file or a pipe; -ENOTSUP if fd is another kind of file. */
int json_input_open(struct json_input **ret_input, int fd);
void json_input_close(struct json_input *input); /* NULL is fine; fd stays open */

/* The first character of the next value (or the next punctuation), or -errno. */
int json_input_peek(struct json_input *input);
/* Reads the next value. The caller frees it; it is NULL for null. */
int json_input_value(struct json_input *input, json_object **ret_value);
/* Reads the next value and drops it. */
int json_input_skip(struct json_input *input);

/* Must read one value. The key is NULL in an array. An error ends the walk, which returns it. */
typedef int json_input_item(struct json_input *input, const char *key, void *ctx);
/* Reads an object or an array. */
int json_input_each(struct json_input *input, json_input_item *item, void *ctx);

#endif
