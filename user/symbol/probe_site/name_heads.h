/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of names by how they start, to pass quickly over the many of a symbol table that start like
 * none of it. Zeroed memory is an empty set.
 */
#ifndef MTRACE_SYMBOL_PROBE_SITE_NAME_HEADS_H
#define MTRACE_SYMBOL_PROBE_SITE_NAME_HEADS_H

#include <stdbool.h>
#include <stdint.h>

#define NAME_HEADS_BITS 4096

struct name_heads {
	uint64_t words[NAME_HEADS_BITS / 64];
};

/* A name, or the start of names; of at least two characters. */
void name_heads_add(struct name_heads *heads, const char *name);

/* False only if it starts with none of what was added. */
bool name_heads_may_have(const struct name_heads *heads, const char *name);

#endif
