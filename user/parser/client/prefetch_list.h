/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In the tracer: the files that parsers prefetch, and the answers so far. */
#ifndef MTRACE_PARSER_CLIENT_PREFETCH_LIST_H
#define MTRACE_PARSER_CLIENT_PREFETCH_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "parser/wire/protocol.h"
#include "parser/wire/wire.h"

struct prefetch_entry {
	bool is_second;                      /* the second parser reads it */
	bool asked;                          /* its answers have been requested */
	struct wire answers[PREFETCH_KINDS]; /* until they are used */
};

/* An all-zero list is empty. */
struct prefetch_list {
	VEC(struct prefetch_entry) files;
	struct map64 index_of;
};

/* The key identifies a file in its current state. Returns 0 or -ENOMEM. */
int prefetch_list_add(struct prefetch_list *list, uint64_t key, bool is_second);
/* NULL if the file is not prefetched. */
struct prefetch_entry *prefetch_list_find(struct prefetch_list *list, uint64_t key);
void prefetch_list_free(struct prefetch_list *list);

#endif
