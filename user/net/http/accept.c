/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the Accept header (RFC 9110, 12.5.1), as far as needed to choose between two formats. */
#include "net/http/accept.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define QUALITY_FULL 1000

/* A part of the header, without surrounding white space. */
struct accept_span {
	const char *at;
	size_t length;
};

/* Returns the text up to the next separator, and moves *rest past it. */
static struct accept_span next_span(const char **rest, const char *end, char separator)
{
	const char *stop = memchr(*rest, separator, (size_t)(end - *rest));
	struct accept_span span = {*rest, (size_t)((stop ? stop : end) - *rest)};

	*rest = stop ? stop + 1 : end;
	while (span.length && isspace((unsigned char)*span.at)) {
		span.at++;
		span.length--;
	}
	while (span.length && isspace((unsigned char)span.at[span.length - 1]))
		span.length--;
	return span;
}

static bool span_is(struct accept_span span, const char *word)
{
	return span.length == strlen(word) && !strncasecmp(span.at, word, span.length);
}

static bool span_begins(struct accept_span span, const char *word)
{
	return span.length >= strlen(word) && !strncasecmp(span.at, word, strlen(word));
}

/* Parses a quality such as "0.75" to thousandths. */
static int quality_of(struct accept_span span)
{
	int quality = 0, scale = QUALITY_FULL;
	bool behind = false;

	for (size_t i = 0; i < span.length && scale; i++) {
		if (span.at[i] == '.' && !behind) {
			behind = true;
			continue;
		}
		if (!isdigit((unsigned char)span.at[i]))
			return 0;
		if (behind)
			scale /= 10;
		if (!behind && (quality || span.at[i] > '1'))
			return QUALITY_FULL;
		quality += (span.at[i] - '0') * scale;
	}
	return quality > QUALITY_FULL ? QUALITY_FULL : quality;
}

struct wish {
	int openmetrics; /* the best quality of each, or -1 if it is not mentioned */
	int text;
};

static void hear(struct wish *wish, struct accept_span element)
{
	const char *rest = element.at, *end = element.at + element.length;
	struct accept_span type = next_span(&rest, end, ';');
	int quality = QUALITY_FULL, *heard = NULL;
	bool known = true;

	if (span_is(type, "application/openmetrics-text"))
		heard = &wish->openmetrics;
	else if (span_is(type, "text/plain") || span_is(type, "text/*") || span_is(type, "*/*"))
		heard = &wish->text;
	while (heard && rest < end) {
		struct accept_span parameter = next_span(&rest, end, ';');

		if (span_begins(parameter, "q="))
			quality = quality_of(
				(struct accept_span){parameter.at + 2, parameter.length - 2});
		else if (span_begins(parameter, "version=") && heard == &wish->openmetrics)
			known = span_is(parameter, "version=1.0.0") ||
				span_is(parameter, "version=0.0.1");
	}
	if (heard && known && quality > *heard)
		*heard = quality;
}

int http_wants_openmetrics(const char *accept)
{
	const char *rest = accept, *end = accept + strlen(accept);
	struct wish wish = {-1, -1};

	while (rest < end)
		hear(&wish, next_span(&rest, end, ','));
	return wish.openmetrics > 0 && wish.openmetrics >= wish.text;
}
