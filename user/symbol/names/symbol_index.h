/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code symbols of a module, sorted by address. */
#ifndef MTRACE_SYMBOL_NAMES_SYMBOL_INDEX_H
#define MTRACE_SYMBOL_NAMES_SYMBOL_INDEX_H

#include <gelf.h>

struct symbol_index;

/* Returns NULL if out of memory. */
struct symbol_index *symbol_index_new(void);
void symbol_index_free(struct symbol_index *index);

/* A symbol to add. Symbols that do not name code are ignored. */
struct symbol_entry {
	const char *name; /* must outlive the index; may be NULL */
	GElf_Addr address;
	GElf_Sym symbol;
	Elf *elf;          /* the file that it comes from */
	GElf_Word section; /* index of its section in that file */
	GElf_Addr bias;    /* addresses of the index minus those of the file */
};

/* Returns 0 or -ENOMEM. */
int symbol_index_add(struct symbol_index *index, const struct symbol_entry *entry);
/* Call after adding all symbols and before the first lookup. */
void symbol_index_sort(struct symbol_index *index);

/* The name of the symbol that covers an address, or NULL. */
const char *symbol_index_find(const struct symbol_index *index, GElf_Addr address);

#endif
