/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Formats numbers with their nouns. Each function writes into the caller's buffer and returns it.
 */
#ifndef MTRACE_REPORT_COMMON_AMOUNT_H
#define MTRACE_REPORT_COMMON_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

#define AMOUNT_SIZE 96

/* "1 block", "1,234 blocks" */
const char *amount_of(uint64_t count, const char *noun, char text[AMOUNT_SIZE]);
/* "block" or "blocks" */
const char *amount_noun(uint64_t count, const char *noun, char text[AMOUNT_SIZE]);
/* "85.2%"; "<0.1%" or ">99.9%" if rounding would show 0% or 100%. 0% if `whole` is 0. */
const char *amount_share(uint64_t part, uint64_t whole, char text[AMOUNT_SIZE]);
/* Nanoseconds from one time to another, or 0 if `until_ns` is earlier. */
uint64_t amount_between(uint64_t since_ns, uint64_t until_ns);
/* "12.4 s"; without UTF-8, "us" for µs */
const char *amount_duration(uint64_t ns, bool utf8, char text[AMOUNT_SIZE]);

#endif
