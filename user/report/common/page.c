/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/common/page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/common/glyph.h"
#include "report/common/name.h"

#define READABLE_COLUMNS 100 /* longer rules and sentences are hard to read */
#define FORMAT_SIZE      512

static const char *const style_codes[STYLE_COUNT] = {
	[STYLE_PLAIN] = "",           [STYLE_QUIET] = "\x1b[2m",
	[STYLE_STRONG] = "\x1b[1m",   [STYLE_CULPRIT] = "\x1b[1;33m",
	[STYLE_WARNING] = "\x1b[33m",
};

static const char *const symbols[SYMBOL_COUNT][2] = {
	[SYMBOL_RULE] = {"-", "─"},
	[SYMBOL_SEPARATOR] = {", ", " · "},
	[SYMBOL_ARROW] = {">", "→"},
	[SYMBOL_ELLIPSIS] = {"...", "…"},
};

const char *page_symbol(const struct page *page, enum symbol symbol)
{
	return symbols[symbol][page->utf8];
}

size_t page_columns(const struct page *page, const char *text)
{
	return text_columns(text, page->utf8);
}

/* Writes escape sequences only where the style changes before visible text. */
static void set_style(struct page *page, enum style style)
{
	if (!page->color || page->style == style)
		return;
	if (page->style != STYLE_PLAIN)
		out_text(&page->out, "\x1b[0m");
	if (style != STYLE_PLAIN)
		out_text(&page->out, style_codes[style]);
	page->style = style;
}

/* Writes visible text, and first the blanks before it, which are then not trailing. */
static void put_visible(struct page *page, enum style style, const char *bytes, size_t count)
{
	out_blanks(&page->out, page->blanks);
	page->blanks = 0;
	set_style(page, style);
	out_bytes(&page->out, bytes, count);
}

/* Text that is its own printable form. Trailing blanks are held back. */
static void put_plain(struct page *page, enum style style, const char *text, size_t length)
{
	size_t first = 0, end = length;

	while (first < length && text[first] == ' ')
		first++;
	while (end > first && text[end - 1] == ' ')
		end--;
	page->column += length;
	page->blanks += first;
	if (first < end)
		put_visible(page, style, text + first, end - first);
	page->blanks += length - end;
}

static size_t page_room(const struct page *page)
{
	return page->limit > page->column ? page->limit - page->column : 0;
}

void page_text(struct page *page, enum style style, const char *text)
{
	struct glyph glyph;
	size_t taken;

	for (;; text += taken) {
		size_t plain = text_plain(text);
		size_t room = page_room(page);

		put_plain(page, style, text, plain < room ? plain : room);
		if (plain > room)
			return;
		text += plain;
		taken = glyph_next(text, page->utf8, &glyph);
		if (!taken || glyph.columns > page_room(page))
			return;
		page->column += glyph.columns;
		put_visible(page, style, glyph.text, strlen(glyph.text));
	}
}

void page_format(struct page *page, enum style style, const char *format, ...)
{
	char text[FORMAT_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	page_text(page, style, text);
}

void page_name(struct page *page, enum style style, const char *name, size_t columns)
{
	char *fitted = name_fit(name, columns, page->utf8);

	if (fitted)
		page_text(page, style, fitted);
	else
		out_fail(&page->out, -ENOMEM);
	free(fitted);
}

void page_to(struct page *page, size_t column)
{
	if (column <= page->column)
		return;
	page->blanks += column - page->column;
	page->column = column;
}

void page_right(struct page *page, enum style style, size_t columns, const char *text)
{
	size_t used = page_columns(page, text);

	if (used < columns)
		page_to(page, page->column + columns - used);
	page_text(page, style, text);
}

void page_item(struct page *page, enum style style, size_t indent, const char *separator,
	       const char *text)
{
	size_t columns = page_columns(page, separator) + page_columns(page, text);

	if (page->column > indent && page->column + columns <= page->limit)
		page_text(page, STYLE_QUIET, separator);
	else if (page->column > indent)
		page_end(page);
	page_to(page, indent);
	page_text(page, style, text);
}

static size_t readable(const struct page *page)
{
	return page->width < READABLE_COLUMNS ? page->width : READABLE_COLUMNS;
}

static void page_word(struct page *page, enum style style, size_t indent, const char *word)
{
	page->limit = readable(page);
	page_item(page, style, indent, " ", word);
}

void page_sentence(struct page *page, enum style style, size_t indent, const char *text)
{
	char *words = strdup(text);
	char *rest = NULL;

	if (!words)
		out_fail(&page->out, -ENOMEM);
	for (char *word = words ? strtok_r(words, " ", &rest) : NULL; word;
	     word = strtok_r(NULL, " ", &rest))
		page_word(page, style, indent, word);
	page_end(page);
	free(words);
}

void page_unlimited(struct page *page)
{
	page->limit = SIZE_MAX;
}

void page_end(struct page *page)
{
	set_style(page, STYLE_PLAIN);
	out_text(&page->out, "\n");
	page->column = 0;
	page->blanks = 0;
	page->limit = page->width;
}

void page_rule(struct page *page)
{
	size_t columns = readable(page);

	for (size_t i = 0; i < columns; i++)
		page_text(page, STYLE_QUIET, page_symbol(page, SYMBOL_RULE));
	page_end(page);
}

int page_finish(struct page *page)
{
	return out_finish(&page->out);
}
