/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/common/stop_words.h"

#include <stddef.h>

static const struct stop_words stop_words[] = {
	[STOP_END] = {"", NULL, NULL, false},
	[STOP_DEPTH] = {"deeper than --depth", "after as many frames as --depth lets through", NULL,
			false},
	/* Where frame pointers are all there is, that is said of the stacks as a whole. */
	[STOP_UNKNOWN] = {"the walk could not tell", NULL, NULL, false},
	[STOP_NO_TABLE] = {"no call frame information", "in code without call frame information",
			   NULL, true},
	[STOP_NO_ROW] = {"no simple call frame information",
			 "where call frame information is not simple enough", NULL, true},
	[STOP_NO_CODE] = {"no code there", "at an address that nothing can return to",
			  "such stacks are damaged, or made by hand", false},
	[STOP_READ] = {"not readable", "where the stack could not be read", NULL, false},
	[STOP_PROBE] = {"another tool's return probe", "at another tool's return probe",
			"trace again without that tool", false},
	[STOP_SIGNAL] = {"interrupted by a signal", "at a function that a signal interrupted",
			 "who called it is not recorded", false},
	[STOP_BUSY] = {"mappings were changing", "where the process was changing its mappings",
		       NULL, false},
	[STOP_LATE] = {"table came late", "in code that was new", NULL, true},
	[STOP_SLICE] = {"too far up", "too far up the stack behind an interrupted function", NULL,
			false},
};

_Static_assert(sizeof(stop_words) / sizeof(stop_words[0]) == STOP_COUNT, "words for every stop");

const struct stop_words *stop_words_of(unsigned int stop)
{
	/* That stacks are off, or that some were lost, is said elsewhere. */
	static const struct stop_words not_taken = {"the rest was lost", NULL, NULL, false};

	return stop < STOP_COUNT ? &stop_words[stop] : &not_taken;
}
