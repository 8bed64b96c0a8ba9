/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name of a code address, and the configuration of the symbolizer. */
#ifndef MTRACE_SYMBOL_NAMES_SYMBOL_NAME_H
#define MTRACE_SYMBOL_NAMES_SYMBOL_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/names/debugfile.h"

struct symbolizer_config {
	debug_finder *find; /* finds separate debug files; NULL: use none */
	void *ctx;
};

struct symbol_name {
	const char *function; /* demangled; NULL if unknown */
	const char *file;     /* NULL if unknown */
	uint32_t line;
	bool inlined; /* the frame is inlined into the next one */
};

#endif
