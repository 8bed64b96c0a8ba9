/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Separate debug files: the references to them in ELF files, and where they are on this machine.
 * Naming a file and opening it are separate steps, because a process that reads hostile files must
 * not open others.
 */
#ifndef MTRACE_SYMBOL_NAMES_DEBUGFILE_H
#define MTRACE_SYMBOL_NAMES_DEBUGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "symbol/elf/module.h"

#define DEBUG_BUILD_ID_MAX   64 /* bytes; 20 are usual */
#define DEBUG_CANDIDATES_MAX 8  /* files that are tried for each wanted one */

struct debug_want {
	bool alternate; /* from .gnu_debugaltlink: the part that dwz(1) shares between debug files
			 */
	uint8_t build_id[DEBUG_BUILD_ID_MAX]; /* of the wanted file */
	size_t build_id_size;                 /* 0: unknown */
	const char *link;                     /* file name, for alternate files a path, or NULL */
	unsigned int candidate; /* 0: the first file that is found; then 1, …: it was the wrong one
				 */
};

/* Returns the wanted file, open for reading, or -1. The caller closes it. */
typedef int debug_finder(void *ctx, const struct module *module, const struct debug_want *want);

/* A search on this machine. Zero-initialize it. */
struct debug_search {
	char *found; /* path of the last file found: links to alternate files are relative to it */
	struct stat found_file;
	unsigned int passed; /* by the last search: the candidates before the one it found */
	const char *folders; /* more folders to search, separated by colons; NULL: none */
};

/*
 * A debug_finder; ctx is a struct debug_search. Searches by build id below
 * /usr/lib/debug/.build-id; by link in the folder of the file, in its .debug and below
 * /usr/lib/debug; for alternate files, in the folder of the file that has the link. Then searches
 * `folders` by build id, as below /usr/lib/debug, and by the file name of the link. Never asks a
 * server.
 *
 * Returns only regular ELF files of up to DEBUG_FILE_MAX bytes. Whether they have the right build
 * id or checksum is for the caller to check. Who has written a file with a link chooses names:
 * - Below /usr/lib/debug, only files that root has written are opened.
 * - Links are file names without a directory. They are opened with the rights of the author of the
 *   file that has the link (os/process/rights.h); if that is root, only files that everyone can
 *   read, unless the file itself is for root alone.
 * - Paths of alternate files are opened with the rights of the author of the debug file; if that is
 *   root, with the rights that every user has.
 */
#define DEBUG_FILE_MAX (UINT64_C(6) << 30)
int debug_search_find(void *ctx, const struct module *module, const struct debug_want *want);
void debug_search_end(struct debug_search *search);

#endif
