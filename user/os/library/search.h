/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the dynamic linker looks for a library: the rules of glibc (ld.so(8)) and of musl, as
 * lists of steps.
 */
#ifndef MTRACE_OS_LIBRARY_SEARCH_H
#define MTRACE_OS_LIBRARY_SEARCH_H

#include "os/library/elf_dynamic.h"
#include "os/library/ldcache.h"
#include "os/library/string_list.h"

/* An object that is loaded, and who asked for it first (NULL: the program). */
struct library {
	char *path; /* as it was found, for $ORIGIN */
	struct elf_dynamic dynamic;
	const struct library *loader;
};

struct library_search {
	const struct library *program;
	const struct linker *linker; /* glibc's rules or musl's */
	const char *environment;     /* LD_LIBRARY_PATH, or NULL */
	struct string_list defaults; /* directories, colon-separated lists allowed */
	struct ldcache cache;
	char *lib; /* $LIB: "lib64", "lib/x86_64-linux-gnu" */
};

/* The program, which must have an interpreter, stays the caller's. 0 or -ENOMEM. */
int library_search_open(const struct library *program, const char *library_path,
			struct library_search *ret_search);
/*
 * Add to `found` every file that could be taken for the name, which `by` needs, to begin with the
 * most likely: more than one where the processor's abilities decide (glibc-hwcaps). None is no
 * error. 0 or -ENOMEM.
 */
int library_search_find(const struct library_search *search, const char *name,
			const struct library *by, struct string_list *found);
/* The list that names libraries to load into every program, or NULL. */
const char *library_search_preload_file(const struct library_search *search);
void library_search_close(struct library_search *search);

#endif
