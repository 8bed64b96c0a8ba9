/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The choice of the instruction within one function; see plan.h for the rule. */
#ifndef MTRACE_SYMBOL_PROBE_SITE_CHOICE_H
#define MTRACE_SYMBOL_PROBE_SITE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/probe_site/function_code.h"

struct site_choice {
	size_t offset; /* from the function's first byte */
	bool emulated;
	char instruction[48];
	char reason[96];
};

/*
 * `arguments` is a set of argument positions (1 << n) that must still be in place.
 * Never fails: the entry is always a right answer, only a dearer one.
 */
void site_choose(const struct function_code *code, uint32_t arguments, struct site_choice *ret);

#endif
