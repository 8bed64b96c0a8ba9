/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/common/stop_words.h"

#include <stddef.h>

static const struct stop_words stop_words[] = {
	[STOP_END] = {"", NULL, NULL, false},
	[STOP_DEPTH] = {"deeper than --depth", "at the --depth limit", NULL, false},
	/* With frame pointers only, the report says so once for all stacks. */
	[STOP_UNKNOWN] = {"may be incomplete", NULL, NULL, false},
	[STOP_NO_TABLE] = {"no call frame information", "in code without call frame information",
			   NULL, true},
	[STOP_NO_ROW] = {"unsupported call frame information",
			 "in code whose call frame information is not supported", NULL, true},
	[STOP_NO_CODE] = {"invalid return address", "at an invalid return address",
			  "such stacks are corrupt or built by hand", false},
	[STOP_READ] = {"unreadable", "where the stack could not be read", NULL, false},
	[STOP_PROBE] = {"another tool's return probe", "at another tool's return probe",
			"trace again without that tool", false},
	[STOP_SIGNAL] = {"interrupted by a signal", "at a function that a signal interrupted",
			 "its caller is not recorded", false},
	[STOP_BUSY] = {"mappings were changing", "where the process was changing its mappings",
		       NULL, false},
	[STOP_LATE] = {"unwind table not ready", "in code whose unwind table was not ready yet",
		       NULL, true},
	[STOP_STACK_DUMP] = {"stack copy too short", "where the copy of the stack ends", NULL,
			     false},
};

_Static_assert(sizeof(stop_words) / sizeof(stop_words[0]) == STOP_COUNT, "words for every stop");

const struct stop_words *stop_words_of(unsigned int stop)
{
	/* Disabled and dropped stacks are reported elsewhere. */
	static const struct stop_words not_taken = {"the rest was not recorded", NULL, NULL, false};

	return stop < STOP_COUNT ? &stop_words[stop] : &not_taken;
}
