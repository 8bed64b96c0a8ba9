/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The choice of the instruction within one function; see plan.h for the rule. */
#ifndef MTRACE_SYMBOL_PROBE_SITE_CHOICE_H
#define MTRACE_SYMBOL_PROBE_SITE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Code of this size or more is taken for a function whose end is far or unknown: it is not decoded
 * for branches, and the probe stays at the entry unless that is cheap.
 */
#define FUNCTION_CODE_MAX 65536

struct function_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t address; /* virtual address of bytes[0], for branch targets */
	int machine;      /* e_machine */
	bool elf64;
	bool nop5_is_free; /* the kernel rewrites nop5 at an entry to a call (Linux 6.18): no trap
			    */
};

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
