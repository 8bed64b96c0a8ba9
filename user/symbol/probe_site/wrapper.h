/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrappers: operator new and delete whose body calls an allocation function that is probed. The
 * probe sees their calls already, so they need none.
 */
#ifndef MTRACE_SYMBOL_PROBE_SITE_WRAPPER_H
#define MTRACE_SYMBOL_PROBE_SITE_WRAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "symbol/elf/image.h"
#include "symbol/probe_site/got_slots.h"
#include "symbol/probe_site/x86_code.h"

struct wrapper_search {
	const struct elf_image *image;
	struct got_slots slots;
	struct map64 observed; /* virtual addresses of functions whose calls are seen */
	size_t cost;           /* of the code looked at so far, in bytes */
};

/* 0 or -ENOMEM; wrapper_search_close also after failure. */
int wrapper_search_open(struct wrapper_search *search, const struct elf_image *image);
void wrapper_search_close(struct wrapper_search *search);
int wrapper_search_observe(struct wrapper_search *search, uint64_t vaddr);

bool wrapper_search_is_observed(const struct wrapper_search *search, uint64_t vaddr);

/* Where a jump or call leads to: through a stub of the procedure linkage table to a function of the
 * module; 0 if that leads out of it. */
uint64_t wrapper_search_target(struct wrapper_search *search, uint64_t vaddr);

/* Does the present instruction jump to an observed function, or call one? */
bool wrapper_search_leads_to_observed(struct wrapper_search *search, const struct x86_walk *walk);

/* A walk over code of the image, until it is closed. False once too much code was looked at. */
bool wrapper_search_open_code(struct wrapper_search *search, uint64_t vaddr, uint64_t size,
			      struct function_code *code, struct x86_walk *walk);
void wrapper_search_close_code(struct function_code *code, struct x86_walk *walk);

/* Does the function call one that is observed? No, once too much code was looked at. `vaddr` is as
 * in a symbol: it says the mode of ARM's code (arch/arch.h). */
bool wrapper_detect(struct wrapper_search *search, uint64_t vaddr, uint64_t size);

#endif
