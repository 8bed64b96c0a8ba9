/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page of text for people: columns, styles, and symbols that the locale can show. Knows nothing
 * about snapshots. All text is printed in its printable form (glyph.h) and within the right margin.
 */
#ifndef MTRACE_REPORT_COMMON_PAGE_H
#define MTRACE_REPORT_COMMON_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/common/out.h"

#define TEXT_INDENT 2 /* columns before the lines of a list */

enum style {
	STYLE_PLAIN,
	STYLE_QUIET,   /* secondary */
	STYLE_STRONG,  /* headings and amounts */
	STYLE_CULPRIT, /* the line to look at */
	STYLE_WARNING,
	STYLE_COUNT,
};

enum symbol {
	SYMBOL_RULE,
	SYMBOL_SEPARATOR, /* between the items of a line */
	SYMBOL_ARROW,
	SYMBOL_ELLIPSIS,
	SYMBOL_COUNT,
};

struct page {
	struct out out;
	size_t width;
	size_t limit;     /* right margin: the width, unless page_unlimited() lifted it */
	size_t column;    /* 0-based; where the next text goes */
	size_t blanks;    /* pending before it: written only if text follows */
	enum style style; /* the terminal's current style */
	bool color;
	bool utf8;
};

const char *page_symbol(const struct page *page, enum symbol symbol);
size_t page_columns(const struct page *page, const char *text);

void page_text(struct page *page, enum style style, const char *text);
void page_format(struct page *page, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Shortened to the given columns, in the middle or as a C++ name (report/common/name.h). */
void page_name(struct page *page, enum style style, const char *name, size_t columns);

void page_to(struct page *page, size_t column); /* pads with blanks up to the column */
/* Writes the text right-aligned in the next `columns` columns. */
void page_right(struct page *page, enum style style, size_t columns, const char *text);
/*
 * Writes the text, after the separator unless the line is empty up to `indent`. If it does not fit,
 * it is written on a new indented line. Items are never broken.
 */
void page_item(struct page *page, enum style style, size_t indent, const char *separator,
	       const char *text);
/* A sentence, wrapped at words. */
void page_sentence(struct page *page, enum style style, size_t indent, const char *text);

void page_unlimited(struct page *page); /* lets this line exceed the page width, for grep */
void page_end(struct page *page);       /* ends the line */
void page_rule(struct page *page);
int page_finish(struct page *page); /* 0 or the first -errno */

#endif
