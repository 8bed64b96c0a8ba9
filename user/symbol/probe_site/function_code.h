/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine code of a function. */
#ifndef MTRACE_SYMBOL_PROBE_SITE_FUNCTION_CODE_H
#define MTRACE_SYMBOL_PROBE_SITE_FUNCTION_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Code of at least this size belongs to a function whose end is far away or unknown. It is not
 * searched for branches, so the probe stays at the entry unless the entry itself is cheap.
 */
#define FUNCTION_CODE_MAX 65536

struct function_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t address; /* virtual address of bytes[0], for branch targets */
	int machine;      /* e_machine */
	bool elf64;
	bool nop5_is_free; /* Linux 6.18 and later turn a nop5 into a call: no trap */
};

#endif
