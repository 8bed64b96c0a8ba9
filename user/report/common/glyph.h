/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names from outside (process names, paths, symbols), one character at a time, made safe to show.
 *
 * Such names are bytes that somebody else chose. A terminal must get from them neither control
 * characters nor the invisible ones that reorder or hide text, so those are shown as \x1b or
 * \u{202e}; so is whatever is not UTF-8, and, where the locale is not UTF-8, all that is not ASCII.
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
 * Decode one character, strictly: no overlong forms, no surrogates. Returns its length in bytes,
 * or 0 if the text starts with something else (then skip one byte) or is empty.
 */
size_t utf8_decode(const char *text, uint32_t *ret_code);

/* Is this a control, or a character that hides or reorders text? */
bool utf8_hidden(uint32_t code);

/* The printable form of the text's first character. Returns the bytes that it took, 0 at the end.
 */
size_t glyph_next(const char *text, bool utf8, struct glyph *ret_glyph);

/*
 * The number of bytes at the start that are printed as they are, one column each: printable ASCII.
 * Most names consist of these only, so callers skip them at once.
 */
size_t text_plain(const char *text);

/* Columns of the whole text in its printable form; never less than a terminal uses. */
size_t text_columns(const char *text, bool utf8);

/*
 * The printable form, in memory of its own, with room for TEXT_SLACK bytes more; NULL if out of
 * memory. It is its own printable form.
 */
char *text_clean(const char *text, bool utf8);
#define TEXT_SLACK 3

#endif
