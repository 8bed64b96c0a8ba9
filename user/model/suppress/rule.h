/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The structs behind suppressions, private to this folder. */
#ifndef MTRACE_MODEL_SUPPRESS_RULE_H
#define MTRACE_MODEL_SUPPRESS_RULE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/snapshot/leak.h"

/* Special characters of a wild pattern; all others are literal. */
#define WILD_RUN '\1' /* any text, possibly empty */
#define WILD_ONE '\2' /* any single byte */

enum frame_kind {
	FRAME_FUNCTION, /* wild; the whole name, or the part before a parameter list */
	FRAME_REGEX,    /* matches anywhere in the function's name */
	FRAME_ANY_NAME, /* wild; function, file or module */
	FRAME_MODULE,   /* wild */
	FRAME_SOURCE,   /* wild; the path or its last component, with or without the line */
	FRAME_SKIP,     /* any number of frames */
	FRAME_KIND_COUNT,
};

struct frame_rule {
	enum frame_kind kind;
	char *wild;
	char *demangled; /* the demangled pattern if it is a mangled name; otherwise NULL */
	regex_t regex;   /* for FRAME_REGEX */
};

struct suppression {
	char *name;
	uint32_t classes; /* bit mask of enum leak_class: classes that it can suppress */
	bool anywhere; /* one rule for any frame; otherwise the rules match from the allocator on */
	VEC(struct frame_rule) frames;
};

struct suppressions {
	VEC(struct suppression) items;
	size_t mangled;
	size_t regex_size; /* sum of the sizes of all regular expressions */
};

void suppression_free(struct suppression *suppression);

#endif
