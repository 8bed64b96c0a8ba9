/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a module that the allocator table names, one for each address. */
#ifndef MTRACE_SYMBOL_PROBE_SITE_API_FUNCTIONS_H
#define MTRACE_SYMBOL_PROBE_SITE_API_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "base/error.h"
#include "base/vec.h"
#include "symbol/elf/image.h"
#include "symbol/probe_site/hook.h"
#include "symbol/probe_site/name_heads.h"

#define API_SYMBOL_SIZE 64

/* Runtimes that take an allocator's place, by what they say of themselves. */
enum sanitizer { SANITIZER_NONE, SANITIZER_LEAK, SANITIZER_ADDRESS, SANITIZER_COUNT };

struct api_function {
	enum api api; /* of several names at one address, the first of the table */
	int rank;     /* of the name among the api's */
	char symbol[API_SYMBOL_SIZE];
	uint64_t vaddr;
	uint64_t offset; /* in the file */
	uint64_t size;   /* bytes; FUNCTION_CODE_MAX if longer or unknown */
	bool indirect;   /* STT_GNU_IFUNC: its code returns the function to be called */
	bool thumb;      /* ARM's compact instruction set */
	bool wrapper;    /* calls another one of these */
	bool by_exits;   /* watched at its exits */
	bool prefixed;   /* its name has a prefix before the standard one */
};

struct api_functions {
	VEC(struct api_function) list;
	uint64_t hooks[HOOK_COUNT]; /* file offsets, 0 where there is none */
	int hook_ranks[HOOK_COUNT]; /* which name it was found by, from 1 */
	bool glibc_linker;          /* this is glibc's ld.so */
	bool shared_operators;      /* an operator has its address in common with another api */
	bool whole_program;         /* static: what was hidden is local */
	unsigned int prefixes_met;  /* set of 1 << index of api_prefixes */
	struct name_heads heads;    /* of all names that are looked for, prefixes among them */
	const char *prefix;         /* of what is looked for; NULL: standard names */
	enum sanitizer sanitizer;   /* whose runtime this has */
};

/* 0, -ENOMEM, or -E2BIG for what defines more than any allocator does; with words. */
int api_functions_collect(struct api_functions *functions, const struct elf_image *image,
			  struct error *err);
void api_functions_free(struct api_functions *functions);
bool api_functions_define(const struct api_functions *functions, enum api api);
/* By its standard name? */
bool api_functions_define_plain(const struct api_functions *functions, enum api api);

/* Of a symbol with or without version: its api. */
enum api api_of_versioned(const char *symbol, char ret_plain[API_SYMBOL_SIZE]);

#endif
