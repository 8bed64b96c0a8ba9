/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the files of modules that were traced earlier, or on another machine. What lies there now
 * need not be what ran then, so its build id has to be the same, or where there is none its size.
 */
#ifndef MTRACE_SOURCE_STREAM_FINDER_H
#define MTRACE_SOURCE_STREAM_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "parser/client/client.h"
#include "symbol/elf/module.h"

struct finder {
	struct module_table *modules; /* what is found goes there … */
	struct parser *parser;        /* … read by this */
	const char *sysroot;          /* --sysroot: instead of the root; NULL: the root */
	const char *const *binpaths;  /* --binpath: looked at first; NULL-terminated */
};

/* What is known of a module's file besides what a module says of itself. */
struct wanted_file {
	uint64_t size; /* bytes; 0: nothing is known, any file of the name is the module */
};

/*
 * A module like `known` (path, build id, machine, word, segments) in the table, with its file if
 * that was found: else without, so its code has places, but no names. 0 or -ENOMEM.
 */
int finder_module(const struct finder *finder, const struct module *known,
		  const struct wanted_file *wanted, struct module **ret_module);

#endif
