/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/common/glyph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
	uint32_t first;
	uint32_t last;
};

#define RANGE_COUNT(ranges) (sizeof(ranges) / sizeof((ranges)[0]))

/* Control, direction-override, zero-width and tag characters: never printed as they are. */
static const struct range hidden[] = {
	{0x0, 0x1f},      {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},     {0x115f, 0x1160},
	{0x180b, 0x180f}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},
	{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff},
};

/*
 * East Asian wide characters and emoji (Unicode, EastAsianWidth.txt), by blocks. A narrow character
 * in such a block is counted as wide, which costs one blank; the opposite error would break the
 * line.
 */
static const struct range wide[] = {
	{0x1100, 0x11ff},   {0x231a, 0x232a},   {0x23e9, 0x23f3},   {0x25fd, 0x27bf},
	{0x2b1b, 0x2b55},   {0x2e80, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7ff},
	{0xf900, 0xfaff},   {0xfe10, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
	{0x16fe0, 0x18dff}, {0x1aff0, 0x1b2ff}, {0x1d300, 0x1d37f}, {0x1f000, 0x1faff},
	{0x20000, 0x3ffff},
};

static bool in_ranges(uint32_t code, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

bool utf8_hidden(uint32_t code)
{
	return in_ranges(code, hidden, RANGE_COUNT(hidden));
}

/*
 * Returns the length that the lead byte announces and its bits of the code, or 0 if it is no lead
 * byte.
 */
static size_t utf8_lead(unsigned char lead, uint32_t *ret_code)
{
	if (lead < 0x80) {
		*ret_code = lead;
		return lead ? 1 : 0;
	}
	if (lead >= 0xc2 && lead <= 0xdf) {
		*ret_code = lead & 0x1f;
		return 2;
	}
	if (lead >= 0xe0 && lead <= 0xef) {
		*ret_code = lead & 0x0f;
		return 3;
	}
	if (lead >= 0xf0 && lead <= 0xf4) {
		*ret_code = lead & 0x07;
		return 4;
	}
	return 0;
}

size_t utf8_decode(const char *text, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t code = 0;
	size_t length = utf8_lead((unsigned char)text[0], &code);

	for (size_t i = 1; i < length; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (!length || code < least[length] || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return length;
}

static struct glyph glyph_escape(const char *format, uint32_t code)
{
	struct glyph glyph = {.columns = 0};

	glyph.columns = (size_t)snprintf(glyph.text, sizeof(glyph.text), format, code);
	return glyph;
}

size_t glyph_next(const char *text, bool utf8, struct glyph *ret_glyph)
{
	unsigned char byte = (unsigned char)text[0];
	uint32_t code = 0;
	size_t length = utf8_decode(text, &code);

	if (!byte)
		return 0;
	if (!length || byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8)) {
		*ret_glyph = glyph_escape("\\x%02x", byte);
		return 1;
	}
	if (byte >= 0x80 && utf8_hidden(code)) {
		*ret_glyph = glyph_escape("\\u{%x}", code);
		return length;
	}
	*ret_glyph = (struct glyph){.columns = 1};
	memcpy(ret_glyph->text, text, length);
	if (byte >= 0x80 && in_ranges(code, wide, RANGE_COUNT(wide)))
		ret_glyph->columns = 2;
	return length;
}

size_t text_plain(const char *text)
{
	const char *end = text;

	while (*end >= 0x20 && *end < 0x7f)
		end++;
	return (size_t)(end - text);
}

size_t text_columns(const char *text, bool utf8)
{
	size_t columns = 0, taken = 0;
	struct glyph glyph;

	do {
		size_t plain = text_plain(text + taken);

		text += taken + plain;
		columns += plain;
		taken = glyph_next(text, utf8, &glyph);
		columns += taken ? glyph.columns : 0;
	} while (taken);
	return columns;
}

/*
 * A byte becomes at most the four of \xNN; a hidden character of two or more bytes becomes \u{…}.
 */
#define CLEAN_GROWTH 4

char *text_clean(const char *text, bool utf8)
{
	size_t plain = text_plain(text);
	size_t rest = strlen(text + plain);
	char *clean = malloc(plain + (rest + 1) * CLEAN_GROWTH);
	struct glyph glyph;
	size_t taken;
	char *end;

	if (!clean)
		return NULL;
	end = mempcpy(clean, text, plain);
	for (text += plain; (taken = glyph_next(text, utf8, &glyph)); text += taken)
		end = stpcpy(end, glyph.text);
	*end = '\0';
	return clean;
}
