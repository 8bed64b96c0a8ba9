/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/common/amount.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* "process" is the only noun whose plural is not formed with a plain s. */
static const char *plural_of(const char *noun, uint64_t count)
{
	size_t length = strlen(noun);

	if (count == 1)
		return "";
	return length && noun[length - 1] == 's' ? "es" : "s";
}

const char *amount_noun(uint64_t count, const char *noun, char text[AMOUNT_SIZE])
{
	snprintf(text, AMOUNT_SIZE, "%s%s", noun, plural_of(noun, count));
	return text;
}

const char *amount_of(uint64_t count, const char *noun, char text[AMOUNT_SIZE])
{
	char number[UNITS_TEXT_SIZE];

	snprintf(text, AMOUNT_SIZE, "%s %s%s", count_format(count, number), noun,
		 plural_of(noun, count));
	return text;
}

const char *amount_share(uint64_t part, uint64_t whole, char text[AMOUNT_SIZE])
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0.0;

	if (part && percent < 0.1)
		snprintf(text, AMOUNT_SIZE, "<0.1%%");
	else if (part < whole && percent > 99.9)
		snprintf(text, AMOUNT_SIZE, ">99.9%%");
	else
		snprintf(text, AMOUNT_SIZE, "%.1f%%", percent);
	return text;
}

uint64_t amount_between(uint64_t since_ns, uint64_t until_ns)
{
	return until_ns > since_ns ? until_ns - since_ns : 0;
}

const char *amount_duration(uint64_t ns, bool utf8, char text[AMOUNT_SIZE])
{
	static const char micro[] = "µ";
	char duration[UNITS_TEXT_SIZE];
	const char *at = strstr(duration_format(ns, duration), micro);

	if (utf8 || !at)
		snprintf(text, AMOUNT_SIZE, "%s", duration);
	else
		snprintf(text, AMOUNT_SIZE, "%.*su%s", (int)(at - duration), duration,
			 at + strlen(micro));
	return text;
}
