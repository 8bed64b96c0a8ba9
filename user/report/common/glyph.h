/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names from outside (process names, paths, symbols), made safe to print one character at a time.
 *
 * Such names are arbitrary bytes. A terminal must not get control characters from them, nor
 * invisible characters that reorder or hide text, so these are printed as \x1b or \u{202e}. So are
 * bytes that are not UTF-8 and, in other locales, everything that is not ASCII.
 */
#ifndef MTRACE_REPORT_COMMON_GLYPH_H
#define MTRACE_REPORT_COMMON_GLYPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GLYPH_TEXT_SIZE 16

struct glyph {
	char text[GLYPH_TEXT_SIZE]; /* what to print */
	size_t columns;
};

/*
 * Decodes one character strictly: no overlong forms, no surrogates. Returns its length in bytes, or
 * 0 if the text is empty or does not start with a valid character (then skip one byte).
 */
size_t utf8_decode(const char *text, uint32_t *ret_code);

/* Returns true for control characters and for those that hide or reorder text. */
bool utf8_hidden(uint32_t code);

/*
 * The printable form of the first character of the text. Returns the bytes consumed, 0 at the end.
 */
size_t glyph_next(const char *text, bool utf8, struct glyph *ret_glyph);

/*
 * The number of leading bytes that are printed unchanged, one column each: printable ASCII. Most
 * names contain nothing else, so callers skip these bytes at once.
 */
size_t text_plain(const char *text);

/* Columns of the printable form of the text; never fewer than a terminal uses. */
size_t text_columns(const char *text, bool utf8);

/*
 * The printable form, allocated with room for TEXT_SLACK more bytes, or NULL if out of memory. The
 * caller frees it. Cleaning it again does not change it.
 */
char *text_clean(const char *text, bool utf8);
#define TEXT_SLACK 3

#endif
