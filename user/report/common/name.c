/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A demangled C++ name can be thousands of characters long, and what distinguishes it from similar
 * names is rarely at its end. So it is shortened in steps, the least informative parts first, until
 * it fits:
 *
 *  1. verbose spellings:      std::__cxx11::basic_string<char, …> becomes std::string
 *  2. arguments:              f(int, char const*) becomes f(…)
 *  3. template arguments:     A<B<int>, C>::f(…) becomes A<…>::f(…)
 *  4. the middle of the rest: the beginning (namespaces) and more of the end (the function) stay
 *
 * The steps work in place on the printable form. An ellipsis takes three bytes with and without
 * UTF-8 and only replaces longer text, so steps 1 to 3 never need more room; step 4 may need one
 * more byte (TEXT_SLACK). Unbalanced brackets are left alone. Every step takes linear time, because
 * names come from the traced program.
 */
#include "report/common/name.h"

#include <string.h>

#include "report/common/glyph.h"

#define ELLIPSIS_BYTES 3

static const char *const ellipsis[] = {"...", "…"};

struct spelling {
	const char *usual;
	const char *longer;
};

static const struct spelling spellings[] = {
	{"std::string", "std::__cxx11::basic_string<char, std::char_traits<char>, "
			"std::allocator<char> >"},
	{"std::string", "std::__1::basic_string<char, std::__1::char_traits<char>, "
			"std::__1::allocator<char> >"},
	{"std::", "std::__cxx11::"},
	{"std::", "std::__1::"},
	{"(anon)", "(anonymous namespace)"},
};

static void spell_usually(char *text, const struct spelling *spelling)
{
	size_t longer = strlen(spelling->longer);
	size_t usual = strlen(spelling->usual);
	size_t keep;
	char *found = strstr(text, spelling->longer);
	char *out = found;

	while (found) {
		out = mempcpy(out, spelling->usual, usual);
		text = found + longer;
		found = strstr(text, spelling->longer);
		keep = found ? (size_t)(found - text) : strlen(text) + 1;
		memmove(out, text, keep);
		out += keep;
	}
}

#define OPERATOR_FIRST 'o' /* the only letter at which to stop */

/* Length of an operator name at `text`, whose brackets are not counted as brackets; 0 if none. */
static size_t operator_length(const char *text)
{
	size_t length = strlen("operator");

	if (*text != OPERATOR_FIRST || strncmp(text, "operator", length))
		return 0;
	if (!strncmp(text + length, "()", 2))
		return length + 2;
	return length + strspn(text + length, "<>=-");
}

struct brackets {
	char open;
	char close;
};

static const struct brackets round_brackets = {'(', ')'};
static const struct brackets angle_brackets = {'<', '>'};

/* The bracket that closes the one at `text`, or NULL. */
static const char *bracket_end(const char *text, const struct brackets *brackets)
{
	size_t depth = 0;

	while (*text) {
		size_t skip = operator_length(text);

		if (text[0] == '-' && text[1] == '>')
			skip = 2;
		if (!skip && *text == brackets->open)
			depth++;
		if (!skip && *text == brackets->close && --depth == 0)
			return text;
		text += skip ? skip : 1;
	}
	return NULL;
}

static bool worth_collapsing(const char *open, const char *close)
{
	return close && close - open - 1 > ELLIPSIS_BYTES && strncmp(open, "(anon)", 6);
}

/* Number of bytes to copy before the next place to look at; 0 if a pair may start here. */
static size_t plain_length(const char *text, const struct brackets *brackets)
{
	size_t length = operator_length(text);

	if (length || *text == brackets->open)
		return length;
	do
		length++;
	while (text[length] && text[length] != OPERATOR_FIRST && text[length] != brackets->open);
	return length;
}

static void collapse(char *text, const struct brackets *brackets, bool utf8)
{
	char *out = text;

	while (*text) {
		size_t keep = plain_length(text, brackets);
		const char *close = keep ? NULL : bracket_end(text, brackets);

		if (!keep && !worth_collapsing(text, close))
			keep = close ? (size_t)(close - text) + 1 : strlen(text);
		if (keep) {
			memmove(out, text, keep);
			out += keep;
			text += keep;
			continue;
		}
		text += close - text;
		*out++ = brackets->open;
		memcpy(out, ellipsis[utf8], ELLIPSIS_BYTES);
		out += ELLIPSIS_BYTES;
	}
	*out = '\0';
}

/*
 * Where the column is reached. A wide character across it is skipped with `pass`, and kept
 * otherwise.
 */
static char *text_at_column(char *text, size_t column, bool utf8, bool pass)
{
	struct glyph glyph;
	size_t at = 0;
	size_t taken;

	while (at < column && (taken = glyph_next(text, utf8, &glyph))) {
		if (at + glyph.columns > column && !pass)
			break;
		at += glyph.columns;
		text += taken;
	}
	return text;
}

static void cut_middle(char *text, size_t columns, bool utf8)
{
	size_t room = columns - text_columns(ellipsis[utf8], utf8);
	size_t total = text_columns(text, utf8);
	size_t head = room * 2 / 5;
	char *from = text_at_column(text, head, utf8, false);
	char *to = text_at_column(text, total - (room - head), utf8, true);

	memmove(from + ELLIPSIS_BYTES, to, strlen(to) + 1);
	memcpy(from, ellipsis[utf8], ELLIPSIS_BYTES);
}

static bool fits(const char *text, size_t columns, bool utf8)
{
	return text_columns(text, utf8) <= columns;
}

char *name_fit(const char *name, size_t columns, bool utf8)
{
	char *text = text_clean(name, utf8);

	if (!text || fits(text, columns, utf8))
		return text;
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		spell_usually(text, &spellings[i]);
	if (!fits(text, columns, utf8))
		collapse(text, &round_brackets, utf8);
	if (!fits(text, columns, utf8))
		collapse(text, &angle_brackets, utf8);
	if (!fits(text, columns, utf8))
		cut_middle(text, columns, utf8);
	return text;
}

const char *name_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
