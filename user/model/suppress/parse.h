/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads suppressions. */
#ifndef MTRACE_MODEL_SUPPRESS_PARSE_H
#define MTRACE_MODEL_SUPPRESS_PARSE_H

#include <stddef.h>

#include "base/error.h"

struct suppressions;

/* Adds a pattern of --ignore. Returns 0, -EINVAL with a message in *err, or -ENOMEM. */
int suppressions_ignore(struct suppressions *suppressions, const char *pattern, struct error *err);

/* The contents of a suppression file. */
struct suppression_text {
	const char *name; /* for messages: "NAME:3: …" */
	const char *text;
	size_t size;
	/* Demangles a name; the caller frees the result. Returns NULL if out of memory. */
	char *(*demangle)(const char *symbol);
};

/* Returns 0, -EINVAL with a message in *err, or -ENOMEM. After an error, some may have been
 * added. */
int suppressions_parse(struct suppressions *suppressions, const struct suppression_text *text,
		       struct error *err);

#endif
