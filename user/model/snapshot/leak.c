// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/snapshot/leak.h"

#include <errno.h>
#include <string.h>

static const char *const leak_class_names[] = {
	[LEAK_REACHABLE] = "reachable", [LEAK_POSSIBLE] = "possible", [LEAK_UNKNOWN] = "unknown",
	[LEAK_INDIRECT] = "indirect",   [LEAK_DEFINITE] = "definite", [LEAK_STACK] = "stack_only",
};

_Static_assert(sizeof(leak_class_names) / sizeof(leak_class_names[0]) == LEAK_CLASS_COUNT,
	       "a word for every class");

const char *leak_class_name(enum leak_class leak)
{
	return leak_class_names[leak];
}

const char *leak_class_words(enum leak_class leak)
{
	return leak == LEAK_STACK ? "stack only" : leak_class_names[leak];
}

struct leak_kind_row {
	const char *word;
	uint32_t classes;
};

static const struct leak_kind_row leak_kinds[] = {
	{"definite", LEAK_BIT(LEAK_DEFINITE)},
	{"indirect", LEAK_BIT(LEAK_INDIRECT)},
	{"possible", LEAK_BIT(LEAK_POSSIBLE)},
	{"stack-only", LEAK_BIT(LEAK_STACK)},
	{"reachable", LEAK_BIT(LEAK_REACHABLE)},
	{"unknown", LEAK_BIT(LEAK_UNKNOWN)},
	{"all", LEAK_SET_ALL},
	{"none", 0},
};

#define LEAK_KIND_COUNT (sizeof(leak_kinds) / sizeof(leak_kinds[0]))

_Static_assert(LEAK_KIND_COUNT == LEAK_CLASS_COUNT + 2, "every class, all and none");

const char *leak_kind_at(size_t i)
{
	return i < LEAK_KIND_COUNT ? leak_kinds[i].word : NULL;
}

int leak_kind_parse(const char *word, size_t length, uint32_t *ret_classes)
{
	for (size_t i = 0; i < LEAK_KIND_COUNT; i++) {
		if (strlen(leak_kinds[i].word) != length ||
		    strncmp(leak_kinds[i].word, word, length))
			continue;
		*ret_classes = leak_kinds[i].classes;
		return 0;
	}
	return -EINVAL;
}
