/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The allocation functions that a module defines, as listed in the allocator table. One for each
 * address. */
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

/* Sanitizer runtimes, which replace the allocator. */
enum sanitizer { SANITIZER_NONE, SANITIZER_LEAK, SANITIZER_ADDRESS, SANITIZER_COUNT };

struct api_function {
	enum api api; /* if several names share the address, the first one in the table */
	int rank;     /* index of the name among those of the api */
	char symbol[API_SYMBOL_SIZE];
	uint64_t vaddr;
	uint64_t offset; /* file offset */
	uint64_t size;   /* bytes; FUNCTION_CODE_MAX if longer or unknown */
	bool indirect;   /* STT_GNU_IFUNC: its code returns the function to call */
	bool thumb;      /* Thumb code */
	bool wrapper;    /* calls another allocation function */
	bool by_exits;   /* probed at its exits */
	bool prefixed;   /* its name is a standard one with a prefix */
};

struct api_functions {
	VEC(struct api_function) list;
	uint64_t hooks[HOOK_COUNT]; /* file offsets; 0: not found */
	int hook_ranks[HOOK_COUNT]; /* index + 1 of the name that it was found by */
	bool glibc_linker;          /* this is glibc's ld.so */
	bool shared_operators;      /* an operator shares its address with another api */
	bool whole_program;         /* a static program: hidden symbols have become local */
	unsigned int prefixes_met;  /* bit mask of indices of api_prefixes */
	struct name_heads heads;    /* of all names to look for, including prefixes */
	const char *prefix;         /* of the names to look for; NULL: standard names */
	enum sanitizer sanitizer;   /* the runtime that the module contains */
};

/* Returns 0, -ENOMEM, or -E2BIG if there are more functions than any real allocator has; sets
 * *err. */
int api_functions_collect(struct api_functions *functions, const struct elf_image *image,
			  struct error *err);
void api_functions_free(struct api_functions *functions);
bool api_functions_define(const struct api_functions *functions, enum api api);
/* The same, but only counts standard names without a prefix. */
bool api_functions_define_plain(const struct api_functions *functions, enum api api);

/* Returns the api of a symbol with or without a @VERSION, and its name without the version. */
enum api api_of_versioned(const char *symbol, char ret_plain[API_SYMBOL_SIZE]);

#endif
