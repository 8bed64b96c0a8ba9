/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a JSON document whose size and memory are limited: a file may come from anywhere. */
#ifndef MTRACE_APP_REPORT_JSON_INPUT_H
#define MTRACE_APP_REPORT_JSON_INPUT_H

#include <json-c/json.h>

/*
 * Reads a regular file or a pipe. The caller frees the document. Returns 0 or -errno: -EINVAL if it
 * is no JSON, -ENOTSUP if it is another kind of file, -EFBIG if it is too large.
 */
int json_input_read(json_object **ret_document, int fd);

#endif
