/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the properties of a module from its ELF file. */
#ifndef MTRACE_SYMBOL_ELF_MODULE_READ_H
#define MTRACE_SYMBOL_ELF_MODULE_READ_H

#include "base/error.h"
#include "symbol/elf/module.h"

/* Implements struct module_reader (module_table.h) in this process, with the same return values. */
int module_read(struct module *module, struct error *err);

#endif
