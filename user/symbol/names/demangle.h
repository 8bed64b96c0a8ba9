/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demangles names of C++ and Rust functions. */
#ifndef MTRACE_SYMBOL_NAMES_DEMANGLE_H
#define MTRACE_SYMBOL_NAMES_DEMANGLE_H

#include <stdbool.h>

/* Returns true if the symbol looks mangled. */
bool is_mangled(const char *symbol);

/*
 * Returns a symbol without its @VERSION, demangled if it is mangled. The caller frees it; NULL if
 * out of memory. Names that are too long, or expand too much, stay mangled.
 */
char *demangle(const char *symbol);

#endif
