/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a function is left: for functions whose return must not be watched by a return probe.
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
	struct wrapper_search *wrappers; /* knows the image, and which functions are observed */
	const struct map64 *candidates;  /* entries of functions that may be observed later */
	VEC(struct code_range) ranges;   /* functions, by their call frame information; sorted */
};

struct function_exit {
	uint64_t vaddr;
	enum exit_kind kind;
};

/* What was found of one function; zeroed before, freed after. */
struct function_exits {
	VEC(struct function_exit) list;
	bool calls_observed;
	bool has_own_path;     /* can be left without a call of an observed function */
	bool enters_candidate; /* goes over into one */
	const char *objection; /* why the list may not be complete; NULL if it is */
};

/* 0 or -ENOMEM; exit_search_close also after failure. The image and the search outlive this. */
int exit_search_open(struct exit_search *search, struct wrapper_search *wrappers,
		     const struct map64 *candidates);
void exit_search_close(struct exit_search *search);

/* 0 or -ENOMEM. */
int exit_search_run(struct exit_search *search, uint64_t vaddr, struct function_exits *exits);
void function_exits_free(struct function_exits *exits);

#endif
