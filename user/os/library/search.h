/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Searches for libraries like the dynamic linker: the rules of glibc (ld.so(8)) and of musl, as
 * lists of steps.
 */
#ifndef MTRACE_OS_LIBRARY_SEARCH_H
#define MTRACE_OS_LIBRARY_SEARCH_H

#include "os/library/elf_dynamic.h"
#include "os/library/ldcache.h"
#include "os/library/string_list.h"

/* A loaded object, and the object that requested it first (NULL for the program). */
struct library {
	char *path; /* as it was found; determines $ORIGIN */
	struct elf_dynamic dynamic;
	const struct library *loader;
};

struct library_search {
	const struct library *program;
	const struct linker *linker; /* glibc's rules or musl's */
	const char *environment;     /* LD_LIBRARY_PATH, or NULL */
	struct string_list defaults; /* directories, or colon-separated lists of directories */
	struct ldcache cache;
	char *lib; /* value of $LIB: "lib64", "lib/x86_64-linux-gnu" */
};

/* `program` must have an interpreter, and must outlive the search. Returns 0 or -ENOMEM. */
int library_search_open(const struct library *program, const char *library_path,
			struct library_search *ret_search);
/*
 * Adds to `found` every file that the linker might use for `name`, which `by` needs. The most
 * likely file comes first; there can be more than one if the choice depends on the processor
 * (glibc-hwcaps). Finding none is not an error. Returns 0 or -ENOMEM.
 */
int library_search_find(const struct library_search *search, const char *name,
			const struct library *by, struct string_list *found);
/* The file that names libraries to load into every program, or NULL. */
const char *library_search_preload_file(const struct library_search *search);
void library_search_close(struct library_search *search);

#endif
