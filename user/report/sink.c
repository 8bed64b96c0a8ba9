/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <string.h>

static const struct sink *const sinks[] = {
	&sink_text, &sink_json, &sink_mtrace, &sink_folded, &sink_pprof, &sink_pprof_text,
};

#define SINK_COUNT (sizeof(sinks) / sizeof(sinks[0]))

const struct sink *sink_at(size_t i)
{
	return i < SINK_COUNT ? sinks[i] : NULL;
}

const struct sink *sink_find(const char *name)
{
	for (size_t i = 0; i < SINK_COUNT; i++)
		if (!strcmp(sinks[i]->name, name))
			return sinks[i];
	return NULL;
}
