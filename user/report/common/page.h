/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page of text for people: columns, styles, and symbols that the locale can show. Knows nothing
 * of snapshots. All text goes through the glyphs' printable form, and none passes the right edge.
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
	size_t limit;     /* no text beyond: the width, except in lines begun by page_unlimited() */
	size_t column;    /* 0-based, where the next text goes */
	size_t blanks;    /* before it, not written yet: a line has none at its end */
	enum style style; /* that the terminal is in */
	bool color;
	bool utf8;
};

const char *page_symbol(const struct page *page, enum symbol symbol);
size_t page_columns(const struct page *page, const char *text);

void page_text(struct page *page, enum style style, const char *text);
void page_format(struct page *page, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Shortened in the middle, or as a C++ name, to the given columns (report/common/name.h). */
void page_name(struct page *page, enum style style, const char *name, size_t columns);

void page_to(struct page *page, size_t column); /* blanks up to there */
/* Writes the text right-aligned in the next `columns` columns. */
void page_right(struct page *page, enum style style, size_t columns, const char *text);
/*
 * The text, behind the separator unless the line is empty up to `indent`; on a new line, indented,
 * where it would not fit. Items are never broken.
 */
void page_item(struct page *page, enum style style, size_t indent, const char *separator,
	       const char *text);
/* A sentence, wrapped between words. */
void page_sentence(struct page *page, enum style style, size_t indent, const char *text);

void page_unlimited(struct page *page); /* this line is for grep: it may be longer than the page */
void page_end(struct page *page);       /* of the line */
void page_rule(struct page *page);
int page_finish(struct page *page); /* 0 or the first -errno */

#endif
