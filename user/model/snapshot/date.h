/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing of dates in reports. */
#ifndef MTRACE_MODEL_SNAPSHOT_DATE_H
#define MTRACE_MODEL_SNAPSHOT_DATE_H

#include <stdint.h>

/* Two dates in this range are less than 2^64 ns apart. */
#define DATE_FIRST_YEAR 1970
#define DATE_LAST_YEAR  2499

/*
 * Parses a date as JSON reports have it: "2026-11-22T19:08:24.177Z". *ret_seconds counts from the
 * epoch. Returns 0, or -EINVAL if the text has another form, the date does not exist, or its year
 * is out of range.
 */
int date_parse(const char *text, int64_t *ret_seconds, uint32_t *ret_ms);

#endif
