/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Separate debug information: what a file says of it, and where such files lie on this machine.
 * Naming them and opening them are apart, because who reads a hostile file may open nothing.
 */
#ifndef MTRACE_SYMBOL_NAMES_DEBUGFILE_H
#define MTRACE_SYMBOL_NAMES_DEBUGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/module.h"

#define DEBUG_BUILD_ID_MAX 64 /* bytes; 20 are usual */

struct debug_want {
	bool alternate; /* of .gnu_debugaltlink: what dwz(1) moved out of several debug files */
	uint8_t build_id[DEBUG_BUILD_ID_MAX]; /* of the file wanted */
	size_t build_id_size;                 /* 0: unknown */
	const char *link;                     /* a name or a path, or NULL */
	uint32_t crc; /* of the file behind the link; alternates have none */
};

/* The file that a module wants, open for reading, or -1. */
typedef int debug_finder(void *ctx, const struct module *module, const struct debug_want *want);

/* A search on this machine; zeroed memory is a new one. */
struct debug_search {
	char *found;         /* the last file found: links to alternates are relative to it */
	const char *folders; /* more places to look in, between colons; NULL: none */
};

/*
 * A debug_finder, whose ctx is a struct debug_search: by build id below /usr/lib/debug/.build-id,
 * by link beside the file, in .debug and below /usr/lib/debug; alternates beside the file that has
 * the link; then in the folders, by build id as below /usr/lib/debug, and by the link's name. Only
 * regular ELF files are handed out, whatever a link names. No server is asked.
 */
int debug_search_find(void *ctx, const struct module *module, const struct debug_want *want);
void debug_search_end(struct debug_search *search);

#endif
