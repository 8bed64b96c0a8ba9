/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gets debug information from the servers of $DEBUGINFOD_URLS, with the library of
 * debuginfod(8). */
#ifndef MTRACE_PARSER_CLIENT_DEBUGINFOD_H
#define MTRACE_PARSER_CLIENT_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

/* Returns a descriptor of the debug file with a build id, or -1. May take as long as a download. */
int debuginfod_open(const uint8_t *build_id, size_t size);

#endif
