/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libdwfl's requests for separate debug information, handed to a debug_finder. */
#ifndef MTRACE_SYMBOL_NAMES_DEBUG_WANT_H
#define MTRACE_SYMBOL_NAMES_DEBUG_WANT_H

#include <elfutils/libdwfl.h>

#include "symbol/names/debugfile.h"

/* Whom to ask for the files of a module. */
struct debug_source {
	const struct module *module;
	debug_finder *find; /* NULL: there are none */
	void *ctx;
};

/*
 * libdwfl's find_debuginfo callback, for modules whose userdata points to a struct debug_source, or
 * is NULL. A file whose build id is another than the one wanted is refused.
 */
int debug_want_find(Dwfl_Module *dwfl_module, void **userdata, const char *module_name,
		    Dwarf_Addr base, const char *file_name, const char *link, GElf_Word crc,
		    char **ret_name);

#endif
