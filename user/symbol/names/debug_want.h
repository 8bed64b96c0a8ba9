/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passes libdwfl's requests for separate debug files to a debug_finder. */
#ifndef MTRACE_SYMBOL_NAMES_DEBUG_WANT_H
#define MTRACE_SYMBOL_NAMES_DEBUG_WANT_H

#include <elfutils/libdwfl.h>

#include "symbol/names/debugfile.h"

/* Where to find the debug files of a module. */
struct debug_source {
	const struct module *module;
	debug_finder *find; /* NULL: there are no debug files */
	void *ctx;
};

/*
 * The find_debuginfo callback for libdwfl. The module's userdata points to a struct debug_source or
 * is NULL. Accepts only a file with the wanted build id or, if one of the files has none, with the
 * checksum of the link.
 */
int debug_want_find(Dwfl_Module *dwfl_module, void **userdata, const char *module_name,
		    Dwarf_Addr base, const char *file_name, const char *link, GElf_Word crc,
		    char **ret_name);

#endif
