/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In the tracer: which files parsers were given ahead, and what they have answered since. */
#ifndef MTRACE_PARSER_CLIENT_GIVEN_H
#define MTRACE_PARSER_CLIENT_GIVEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "parser/wire/protocol.h"
#include "parser/wire/wire.h"

struct given_file {
	bool is_second;                   /* to the second parser */
	bool asked;                       /* its answers have come, if there are any */
	struct wire answers[EARLY_KINDS]; /* until they are wanted */
};

/* Zeroed memory is an empty list. */
struct given {
	VEC(struct given_file) files;
	struct map64 index_of;
};

/* The key is what tells a file, as it is now, from others. 0 or -ENOMEM. */
int given_add(struct given *given, uint64_t key, bool is_second);
struct given_file *given_find(struct given *given, uint64_t key); /* NULL: it was not given */
void given_free(struct given *given);

#endif
