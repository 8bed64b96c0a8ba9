// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/snapshot/leak.h"

static const char *const leak_class_names[] = {
	[LEAK_REACHABLE] = "reachable", [LEAK_POSSIBLE] = "possible", [LEAK_UNKNOWN] = "unknown",
	[LEAK_INDIRECT] = "indirect",   [LEAK_DEFINITE] = "definite",
};

_Static_assert(sizeof(leak_class_names) / sizeof(leak_class_names[0]) == LEAK_CLASS_COUNT,
	       "a word for every class");

const char *leak_class_name(enum leak_class leak)
{
	return leak_class_names[leak];
}
