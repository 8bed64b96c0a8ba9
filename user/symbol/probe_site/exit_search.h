/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the exits of functions that must not have a return probe.
 */
#ifndef MTRACE_SYMBOL_PROBE_SITE_EXIT_SEARCH_H
#define MTRACE_SYMBOL_PROBE_SITE_EXIT_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "base/vec.h"
#include "symbol/probe_site/wrapper.h"

struct code_range {
	uint64_t start;
	uint64_t end;
};

struct exit_search {
	struct wrapper_search *wrappers; /* has the image and the observed functions */
	const struct map64 *candidates;  /* entries of functions that may be observed later */
	VEC(struct code_range) ranges; /* of functions, from their call frame information; sorted */
};

struct function_exit {
	uint64_t vaddr;
	enum exit_kind kind;
};

/* The result for one function. Zero it before the search, free it afterwards. */
struct function_exits {
	VEC(struct function_exit) list;
	bool calls_observed;
	bool has_own_path;     /* some path ends without calling an observed function */
	bool enters_candidate; /* jumps into a candidate */
	const char *objection; /* why the list may be incomplete; NULL if it is complete */
};

/* Returns 0 or -ENOMEM. Call exit_search_close() also after a failure. The image and `wrappers`
 * must outlive the search. */
int exit_search_open(struct exit_search *search, struct wrapper_search *wrappers,
		     const struct map64 *candidates);
void exit_search_close(struct exit_search *search);

/* Returns 0 or -ENOMEM. */
int exit_search_run(struct exit_search *search, uint64_t vaddr, struct function_exits *exits);
void function_exits_free(struct function_exits *exits);

#endif
