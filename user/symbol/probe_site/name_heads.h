/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of name prefixes, used to skip most names of a symbol table quickly. May have false
 * positives. Zeroed memory is an empty set.
 */
#ifndef MTRACE_SYMBOL_PROBE_SITE_NAME_HEADS_H
#define MTRACE_SYMBOL_PROBE_SITE_NAME_HEADS_H

#include <stdbool.h>
#include <stdint.h>

#define NAME_HEADS_BITS 4096

struct name_heads {
	uint64_t words[NAME_HEADS_BITS / 64];
};

/* Adds a name or a prefix of names. At least two characters. */
void name_heads_add(struct name_heads *heads, const char *name);

/* Returns false only if `name` starts with nothing that was added. */
bool name_heads_may_have(const struct name_heads *heads, const char *name);

#endif
