/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of the global offset table that point to the module's own functions. Calls within a
 * library go through it if the symbol can be interposed.
 */
#ifndef MTRACE_SYMBOL_PROBE_SITE_GOT_SLOTS_H
#define MTRACE_SYMBOL_PROBE_SITE_GOT_SLOTS_H

#include <stdint.h>

#include "base/vec.h"
#include "symbol/elf/image.h"

struct got_slot {
	uint64_t address; /* virtual address of the pointer */
	uint64_t function;
};

struct got_slots {
	VEC(struct got_slot) list; /* sorted by address */
	uint64_t base;             /* value of %ebx in position-independent i386 code; 0: unknown */
};

/* Returns 0 or -ENOMEM. */
int got_slots_read(struct got_slots *slots, const struct elf_image *image);
void got_slots_free(struct got_slots *slots);
/* The function that the pointer at `address` points to, or 0. */
uint64_t got_slots_find(const struct got_slots *slots, uint64_t address);

#endif
