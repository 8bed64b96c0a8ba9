/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why stacks are incomplete, in words for people, and what to do about it. */
#ifndef MTRACE_REPORT_COMMON_STOP_WORDS_H
#define MTRACE_REPORT_COMMON_STOP_WORDS_H

#include <stdbool.h>

#include "model/site/stop.h"

struct stop_words {
	const char *brief;  /* after a single stack: "(cut short: …)" */
	const char *where;  /* "3 stacks end …"; NULL: nothing to report */
	const char *advice; /* or NULL */
	bool blames_module; /* the module where most of these stacks end is the cause */
};

const struct stop_words *stop_words_of(unsigned int stop);

#endif
