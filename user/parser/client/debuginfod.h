/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug information from the servers of $DEBUGINFOD_URLS, by debuginfod(8)'s library. */
#ifndef MTRACE_PARSER_CLIENT_DEBUGINFOD_H
#define MTRACE_PARSER_CLIENT_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

/* The debug file with a build id, open for reading, or -1. May take as long as a download. */
int debuginfod_open(const uint8_t *build_id, size_t size);

#endif
