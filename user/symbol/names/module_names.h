/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names in one module's code. With libdw they come from all debug information and symbol tables
 * of the module (module_names.c), without it from the symbol tables only (without_dwarf.c).
 */
#ifndef MTRACE_SYMBOL_NAMES_MODULE_NAMES_H
#define MTRACE_SYMBOL_NAMES_MODULE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/module.h"
#include "symbol/names/symbol_name.h"

struct module_names;

/* Returns NULL if nothing is known about the module, or if out of memory. */
struct module_names *module_names_open(const struct module *module,
				       const struct symbolizer_config *config);
void module_names_close(struct module_names *names);

/* The same as symbolizer_names(), for a virtual address of the file. Strings are valid until the
 * next call for this module. */
size_t module_names_at(struct module_names *names, uint64_t vaddr, struct symbol_name *ret_names,
		       size_t max);

#endif
