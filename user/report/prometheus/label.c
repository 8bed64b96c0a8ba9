/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/prometheus/label.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "report/common/glyph.h"

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS    "\xe2\x80\xa6"

static const char *escape_of(char byte)
{
	static const struct {
		char byte;
		const char *escape;
	} escapes[] = {{'\\', "\\\\"}, {'"', "\\\""}, {'\n', "\\n"}};

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++)
		if (escapes[i].byte == byte)
			return escapes[i].escape;
	return NULL;
}

/* Returns the number of bytes consumed. */
static size_t put_character(FILE *out, const char *text)
{
	const char *escape = escape_of(*text);
	uint32_t code = 0;
	size_t length = utf8_decode(text, &code);

	if (escape)
		fputs(escape, out);
	else if (!length || utf8_hidden(code))
		fputs(REPLACEMENT, out);
	else
		fwrite(text, 1, length, out);
	return length ? length : 1;
}

void prometheus_label(FILE *out, const char *comma, const char *name, const char *value)
{
	const char *at = value;

	fprintf(out, "%s%s=\"", comma, name);
	while (*at && at - value < PROMETHEUS_LABEL_MAX)
		at += put_character(out, at);
	fprintf(out, "%s\"", *at ? ELLIPSIS : "");
}
