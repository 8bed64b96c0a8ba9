/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/site/stop.h"

static const char *const stop_names[] = {
	[STOP_END] = "end",           [STOP_DEPTH] = "depth",   [STOP_UNKNOWN] = "unknown",
	[STOP_NO_TABLE] = "no_table", [STOP_NO_ROW] = "no_row", [STOP_NO_CODE] = "no_code",
	[STOP_READ] = "unreadable",   [STOP_PROBE] = "probe",   [STOP_SIGNAL] = "signal",
	[STOP_BUSY] = "busy",         [STOP_LATE] = "late",     [STOP_STACK_DUMP] = "slice",
};

_Static_assert(sizeof(stop_names) / sizeof(stop_names[0]) == STOP_COUNT, "a word for every stop");

const char *stop_name(unsigned int stop)
{
	if (stop == STOP_NOT_TAKEN)
		return "none";
	return stop_names[stop < STOP_COUNT ? stop : STOP_UNKNOWN];
}
