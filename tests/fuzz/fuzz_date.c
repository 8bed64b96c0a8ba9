// SPDX-License-Identifier: GPL-2.0-or-later
/* The date of a JSON report: a date that is accepted is written back as the same text. */
#include "fuzz.h"

#include <string.h>
#include <time.h>

#include "model/snapshot/date.h"

static void compare(const char *text, time_t seconds, uint32_t ms)
{
	char written[64];
	struct tm parts;
	size_t length;

	require(gmtime_r(&seconds, &parts), "the C library knows the date");
	length = strftime(written, sizeof(written), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(written + length, sizeof(written) - length, ".%03uZ", ms);
	require(!strcmp(written, text), "the date is the one in the text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1); /* exact size: a read past the end is detected */
	int64_t seconds;
	uint32_t ms;

	require(text, "there is memory");
	memcpy(text, data, size);
	text[size] = '\0';
	if (!date_parse(text, &seconds, &ms))
		compare(text, (time_t)seconds, ms);
	free(text);
	return 0;
}
