/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names in one module's code. Built with libdw they come from all that the module has
 * (module_names.c), without it from its symbol tables (without_dwarf.c).
 */
#ifndef MTRACE_SYMBOL_NAMES_MODULE_NAMES_H
#define MTRACE_SYMBOL_NAMES_MODULE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/module.h"
#include "symbol/names/symbol_name.h"

struct module_names;

/* NULL if nothing can be known of the module, or there is no memory. */
struct module_names *module_names_open(const struct module *module,
				       const struct symbolizer_config *config);
void module_names_close(struct module_names *names);

/* As symbolizer_names, for an address as the file has it. Strings live until the next call for this
 * module. */
size_t module_names_at(struct module_names *names, uint64_t vaddr, struct symbol_name *ret_names,
		       size_t max);

#endif
