/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what an ELF file says of itself. */
#ifndef MTRACE_SYMBOL_ELF_MODULE_READ_H
#define MTRACE_SYMBOL_ELF_MODULE_READ_H

#include "base/error.h"
#include "symbol/elf/module.h"

/* A struct module_reader (module_table.h) in this process. The same return values. */
int module_read(struct module *module, struct error *err);

#endif
