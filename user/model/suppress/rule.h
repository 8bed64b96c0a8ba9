/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A suppression as it is stored. Only the files of this folder include it. */
#ifndef MTRACE_MODEL_SUPPRESS_RULE_H
#define MTRACE_MODEL_SUPPRESS_RULE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/snapshot/leak.h"

/* In a wild pattern; all other bytes stand for themselves. */
#define WILD_RUN '\1' /* any text, also none */
#define WILD_ONE '\2' /* any one byte */

enum frame_kind {
	FRAME_FUNCTION, /* wild; the whole name, or what stands before a parameter list */
	FRAME_REGEX,    /* of the function, anywhere in it */
	FRAME_ANY_NAME, /* wild; function, file or module */
	FRAME_MODULE,   /* wild */
	FRAME_SOURCE,   /* wild; path or last component of it, with or without the line */
	FRAME_SKIP,     /* any number of frames */
	FRAME_KIND_COUNT,
};

struct frame_rule {
	enum frame_kind kind;
	char *wild;
	char *demangled; /* the same of a mangled name; NULL if it is none */
	regex_t regex;   /* of FRAME_REGEX */
};

struct suppression {
	char *name;
	uint32_t classes; /* bits by enum leak_class: what it may excuse */
	bool anywhere; /* one rule, for any frame; else they follow each other from the allocator on
			*/
	VEC(struct frame_rule) frames;
};

struct suppressions {
	VEC(struct suppression) items;
	size_t mangled;
};

void suppression_free(struct suppression *suppression);

#endif
