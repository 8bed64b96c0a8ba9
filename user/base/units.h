/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing and formatting of sizes, durations and counts. */
#ifndef MTRACE_BASE_UNITS_H
#define MTRACE_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNITS_TEXT_SIZE 32

/* Parses "4096", "64k", "1m", "2g" (powers of 1024, case-insensitive). Returns 0, -EINVAL or
 * -ERANGE. */
int bytes_parse(const char *text, uint64_t *ret_bytes);
/* Parses "500ms", "10s", "5m", "1h". Returns 0, -EINVAL or -ERANGE. */
int duration_parse(const char *text, uint64_t *ret_ns);
/* Parses a decimal number of at most `max`, with nothing after it. Returns 0, -EINVAL or
 * -ERANGE. */
int number_parse(const char *text, uint64_t max, uint64_t *ret_number);

/* These write to `text` and return it. */
const char *bytes_format(uint64_t bytes, char text[UNITS_TEXT_SIZE]); /* "17 B", "5.6 MiB" */
const char *count_format(uint64_t count, char text[UNITS_TEXT_SIZE]); /* "1,234,567" */
const char *duration_format(uint64_t ns,
			    char text[UNITS_TEXT_SIZE]); /* "350 ms", "12.4 s", "2h 5m" */

#endif
