/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of C++ and Rust functions as their sources spell them. */
#ifndef MTRACE_SYMBOL_NAMES_DEMANGLE_H
#define MTRACE_SYMBOL_NAMES_DEMANGLE_H

#include <stdbool.h>

/* Does it look like a mangled name? */
bool is_mangled(const char *symbol);

/*
 * A symbol without its @VERSION, demangled if it is mangled. To be freed; NULL without memory.
 * Names from hostile files may expand without end: they stay mangled.
 */
char *demangle(const char *symbol);

#endif
