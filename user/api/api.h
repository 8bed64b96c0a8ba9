/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The allocator table: for each allocation function, its names in symbol tables, the meaning of its
 * arguments, and its family. It is pure data, below every other layer. To support a new allocation
 * function, add it here and nowhere else.
 */
#ifndef MTRACE_API_API_H
#define MTRACE_API_API_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

#define API_SYMBOLS_MAX 12

struct api_row {
	const char *name;  /* shown in reports: "malloc", "operator new[]" */
	const char *group; /* used by --only: "malloc", "new", "mmap" */
	enum api_family family;
	uint8_t flags; /* COOKIE_FLAG_* */
	int8_t size;   /* 0-based argument positions; -1 if there is no such argument */
	int8_t count;
	int8_t old;
	int8_t out;
	bool throws; /* may be unwound through, so it must not get a return probe */
	const char *symbols[API_SYMBOLS_MAX]; /* NULL-terminated; the first is canonical */
};

const struct api_row *api_row(enum api api);
const char *api_name(enum api api);

/* Looks up an exact symbol name (without version suffix). Returns API_NONE if it is unknown. */
enum api api_of_symbol(const char *symbol);

/* Calls back with every name that api_of_symbol recognizes. */
void api_each_symbol(void (*visit)(void *ctx, const char *symbol), void *ctx);

/*
 * Looks up a name in an allocator that prefixes all its names. Returns API_NONE if it is unknown.
 * Prefixed names are distinctive enough that this also recognizes names that only some allocators
 * have (mi_free_size).
 */
enum api api_of_prefixed(const char *symbol, const char *prefix);
/* The prefixes that known allocators are built with, NULL-terminated. */
extern const char *const api_prefixes[];

/* Returns true if the api returns memory (unlike free, munmap or delete). */
bool api_allocates(enum api api);
/* Returns true for operator new, new[], delete and delete[]. */
bool api_is_operator(enum api api);
/* Returns true if the api needs a return probe. */
bool api_needs_return(enum api api);

/* The attach cookie of a probe for this api (bpf/abi.h). */
uint64_t api_cookie(enum api api);

/*
 * Parses a comma-separated list of group names or canonical names ("malloc,new,mmap") to a bit mask
 * of apis (1 << api). Returns 0, or -EINVAL with the start of the unknown word in *ret_bad.
 */
int api_set_parse(const char *text, uint32_t *ret_set, const char **ret_bad);
#define API_SET_ALL ((1u << API_COUNT) - 1)

#endif
