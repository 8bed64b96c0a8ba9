/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In the tracer: the files that parsers prefetch, and the answers so far. */
#ifndef MTRACE_PARSER_CLIENT_GIVEN_H
#define MTRACE_PARSER_CLIENT_GIVEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "parser/wire/protocol.h"
#include "parser/wire/wire.h"

struct given_file {
	bool is_second;                   /* the second parser reads it */
	bool asked;                       /* its answers have been requested */
	struct wire answers[EARLY_KINDS]; /* until they are used */
};

/* An all-zero list is empty. */
struct given {
	VEC(struct given_file) files;
	struct map64 index_of;
};

/* The key identifies a file in its current state. Returns 0 or -ENOMEM. */
int given_add(struct given *given, uint64_t key, bool is_second);
/* NULL if the file is not prefetched. */
struct given_file *given_find(struct given *given, uint64_t key);
void given_free(struct given *given);

#endif
