/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the files of modules that were traced earlier or on another machine. The file at that path
 * may have changed since, so its build id must match or, if it has none, its size.
 */
#ifndef MTRACE_SOURCE_STREAM_FINDER_H
#define MTRACE_SOURCE_STREAM_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "parser/client/client.h"
#include "symbol/elf/module.h"

struct finder {
	struct module_table *modules; /* receives the found modules */
	struct parser *parser;        /* reads the files */
	const char *sysroot;          /* --sysroot: replaces the root directory; NULL: the root */
	const char *const *binpaths;  /* --binpath: searched first; NULL-terminated */
};

/* What else is known about a module's file. */
struct wanted_file {
	uint64_t size; /* bytes; 0: nothing is known, accept any file of that name */
};

/*
 * Adds a module like `known` (path, build id, machine, word size, segments) to the table, with its
 * file if found. Without it, code has offsets but no names. Returns 0 or -ENOMEM.
 */
int finder_module(const struct finder *finder, const struct module *known,
		  const struct wanted_file *wanted, struct module **ret_module);

#endif
