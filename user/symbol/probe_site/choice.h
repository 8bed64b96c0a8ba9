/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the instruction to probe within one function; see plan.h for the rule. */
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
 * `arguments` is a bit mask of the argument positions that must still be in place. Never fails: the
 * entry always works, but may be slower.
 */
void site_choose(const struct function_code *code, uint32_t arguments, struct site_choice *ret);

#endif
