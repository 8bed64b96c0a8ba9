/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbols of code in a module, by address, from all tables that libdwfl finds. */
#ifndef MTRACE_SYMBOL_SYMBOL_INDEX_H
#define MTRACE_SYMBOL_SYMBOL_INDEX_H

#include <elfutils/libdwfl.h>

struct symbol_index;

/* The module must outlive the index. 0 or -ENOMEM. */
int symbol_index_new(Dwfl_Module *dwfl_module, struct symbol_index **ret_index);
void symbol_index_free(struct symbol_index *index);

/* The name of what covers an address (libdwfl's), or NULL. It lives as long as the module. */
const char *symbol_index_find(const struct symbol_index *index, GElf_Addr address);

#endif
