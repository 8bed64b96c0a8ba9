/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where separate debug information lies on this machine. */
#ifndef MTRACE_SYMBOL_DEBUGFILE_H
#define MTRACE_SYMBOL_DEBUGFILE_H

#include <elfutils/libdwfl.h>

/*
 * libdwfl's find_debuginfo callback, like dwfl_standard_find_debuginfo but without asking any
 * server: by build id below /usr/lib/debug/.build-id, by .gnu_debuglink beside the file, in .debug
 * and below /usr/lib/debug, and alternate files (dwz) by their link. Returns a descriptor or -1.
 */
int debugfile_find(Dwfl_Module *dwfl_module, void **userdata, const char *module_name,
		   Dwarf_Addr base, const char *file_name, const char *link, GElf_Word crc,
		   char **ret_name);

#endif
