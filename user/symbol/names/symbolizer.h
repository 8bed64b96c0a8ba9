/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for code: function, file, line, inlined calls, by libdw; demangled (C++, Rust); from
 * .debug_info, .symtab or .dynsym, of the module itself or of separate debug files.
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
 * Names of a return address given as file offset in a module: looked up at offset - 1, so that the
 * line is the call's and not the next one's. Innermost first, at most max; returns how many, 0 for
 * none. Strings live until the next call. A file that libdw cannot read gives no names.
 */
size_t symbolizer_names(struct symbolizer *symbolizer, const struct module *module, uint64_t offset,
			struct symbol_name *ret_names, size_t max);

#endif
