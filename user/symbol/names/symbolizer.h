/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolizes code addresses with libdw: function, file, line and inlined calls; demangled (C++,
 * Rust). Uses .debug_info, .symtab and .dynsym of the module and of separate debug files.
 */
#ifndef MTRACE_SYMBOL_NAMES_SYMBOLIZER_H
#define MTRACE_SYMBOL_NAMES_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/module.h"
#include "symbol/names/symbol_name.h"

struct symbolizer;

int symbolizer_new(struct symbolizer **ret_symbolizer, const struct symbolizer_config *config);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * Returns the names of a return address, given as a file offset in a module. Looks up offset - 1,
 * so that the line is that of the call and not of the next statement. Innermost frame first, at
 * most `max`; returns the number of names, 0 if there are none. Strings are valid until the next
 * call. A file that libdw cannot read has no names.
 */
size_t symbolizer_names(struct symbolizer *symbolizer, const struct module *module, uint64_t offset,
			struct symbol_name *ret_names, size_t max);

#endif
