/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the compilation unit, the function and the inlined calls that an address belongs to.
 * Addresses are those of the DWARF file.
 */
#ifndef MTRACE_SYMBOL_NAMES_DWARF_INDEX_H
#define MTRACE_SYMBOL_NAMES_DWARF_INDEX_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

#define INLINE_DEPTH_MAX 64

struct dwarf_index;

/* The scopes around an address. scopes[0] is the function, the last one the innermost inlined
 * call. */
struct dwarf_place {
	Dwarf_Die unit;
	Dwarf_Die scopes[INLINE_DEPTH_MAX];
	size_t scope_count; /* 0 if the unit does not describe the function */
};

/* The Dwarf must outlive the index. Returns 0 or -ENOMEM. */
int dwarf_index_new(Dwarf *dwarf, struct dwarf_index **ret_index);
void dwarf_index_free(struct dwarf_index *index);

/* Returns false if no unit covers the address. */
bool dwarf_index_find(struct dwarf_index *index, Dwarf_Addr address, struct dwarf_place *ret_place);

#endif
