/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbols of code in a module, by address. */
#ifndef MTRACE_SYMBOL_NAMES_SYMBOL_INDEX_H
#define MTRACE_SYMBOL_NAMES_SYMBOL_INDEX_H

#include <gelf.h>

struct symbol_index;

/* NULL if there is no memory. */
struct symbol_index *symbol_index_new(void);
void symbol_index_free(struct symbol_index *index);

/* What is not a name of code is left out. */
struct symbol_entry {
	const char *name; /* lives as long as the index; NULL is fine */
	GElf_Addr address;
	GElf_Sym symbol;
	Elf *elf;          /* where it comes from … */
	GElf_Word section; /* … and there its section */
	GElf_Addr bias;    /* addresses of the index less those of the file */
};

/* 0 or -ENOMEM. */
int symbol_index_add(struct symbol_index *index, const struct symbol_entry *entry);
/* When all are there, and before one is looked for. */
void symbol_index_sort(struct symbol_index *index);

/* The name of what covers an address, or NULL. */
const char *symbol_index_find(const struct symbol_index *index, GElf_Addr address);

#endif
