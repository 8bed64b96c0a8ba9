/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The allocator table: every allocation function that we know, its names in symbol tables, what
 * its arguments mean, and which family it belongs to. Pure data, below every other layer; an
 * allocation function is added here and nowhere else.
 */
#ifndef MTRACE_API_API_H
#define MTRACE_API_API_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

#define API_SYMBOLS_MAX 12

struct api_row {
	const char *name;  /* as reports show it: "malloc", "operator new[]" */
	const char *group; /* as --only names it: "malloc", "new", "mmap" */
	enum api_family family;
	uint8_t flags; /* COOKIE_FLAG_* */
	int8_t size;   /* 0-based argument positions; -1 where there is none */
	int8_t count;
	int8_t old;
	int8_t out;
	bool throws;                          /* may be unwound through: never a return probe */
	const char *symbols[API_SYMBOLS_MAX]; /* NULL-terminated; the first is canonical */
};

const struct api_row *api_row(enum api api);
const char *api_name(enum api api);

/* The api of an exact symbol name (without version suffix), or API_NONE. */
enum api api_of_symbol(const char *symbol);

/* Calls back with every name that has an api. */
void api_each_symbol(void (*visit)(void *ctx, const char *symbol), void *ctx);

/*
 * The api of a name in an allocator that gives all its names a prefix, or API_NONE. Such names are
 * told apart well enough to count names that only some allocators have (mi_free_size).
 */
enum api api_of_prefixed(const char *symbol, const char *prefix);
/* The prefixes that known allocators are built with, NULL-terminated. */
extern const char *const api_prefixes[];

/* Does the api return memory (as against free, munmap, delete)? */
bool api_allocates(enum api api);
/* Is it operator new, new[], delete or delete[]? */
bool api_is_operator(enum api api);
/* Does it need a return probe? */
bool api_needs_return(enum api api);

/* The attach cookie of a probe for this api (bpf/abi.h). */
uint64_t api_cookie(enum api api);

/*
 * A set of apis as a bit mask (1 << api). Parses "malloc,new,mmap": group names or canonical
 * names, comma separated. 0 or -EINVAL, with the offending word's start in *ret_bad.
 */
int api_set_parse(const char *text, uint32_t *ret_set, const char **ret_bad);
#define API_SET_ALL ((1u << API_COUNT) - 1)

#endif
