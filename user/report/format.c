/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/format.h"

#include <string.h>

static const struct report_format *const formats[] = {
	&format_text,   &format_json,  &format_mtrace,
	&format_folded, &format_pprof, &format_pprof_text,
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

const struct report_format *format_at(size_t i)
{
	return i < FORMAT_COUNT ? formats[i] : NULL;
}

const struct report_format *format_find(const char *name)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}
