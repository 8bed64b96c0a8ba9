/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regular expressions that users give. The C library copies what is repeated, so that a short
 * expression like (a{1,255}){1,255} takes gigabytes and minutes. Back-references make matching take
 * exponential time. Neither is needed to match a name, so both are refused.
 */
#ifndef MTRACE_BASE_PATTERN_H
#define MTRACE_BASE_PATTERN_H

#include <regex.h>
#include <stddef.h>

#define PATTERN_REASON_SIZE 128
#define PATTERN_SIZE_MAX    1000 /* characters, after repeated parts were copied */

/*
 * Compiles an extended regular expression. `flags` are those of regcomp() in addition to
 * REG_EXTENDED and REG_NOSUB. *ret_size, which may be NULL, is the size of the expression after
 * repeated parts were copied. The caller calls regfree(). Returns 0, -ENOMEM, or -EINVAL with the
 * reason.
 */
int pattern_compile(const char *text, int flags, regex_t *ret_regex, size_t *ret_size,
		    char reason[PATTERN_REASON_SIZE]);

#endif
