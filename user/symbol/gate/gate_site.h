/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a function can have a gate (arch/gate.h). */
#ifndef MTRACE_SYMBOL_GATE_GATE_SITE_H
#define MTRACE_SYMBOL_GATE_GATE_SITE_H

#include <stdint.h>

#include "arch/gate.h"
#include "symbol/elf/image.h"

struct probe_gate {
	uint64_t offset; /* file offset of the jump */
	uint64_t end;    /* file offset behind the function */
	uint8_t size;    /* bytes that the jump displaces; 0: there can be no gate */
	uint8_t refusal; /* enum gate_refusal: why not */
};

/* `function` has its virtual address in the file, and `offset` is its file offset. Out of memory
 * counts as a refusal. */
struct probe_gate gate_site_find(const struct elf_image *image, const struct gate_code *function,
				 uint64_t offset);

#endif
