/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrappers: operators new and delete that call an allocation function that is probed. Their calls
 * are already seen, so they need no probe.
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
	struct map64 observed; /* virtual addresses of functions whose calls are probed */
	size_t cost;           /* of the code examined so far, in bytes */
};

/* Returns 0 or -ENOMEM. Call wrapper_search_close() also after a failure. */
int wrapper_search_open(struct wrapper_search *search, const struct elf_image *image);
void wrapper_search_close(struct wrapper_search *search);
int wrapper_search_observe(struct wrapper_search *search, uint64_t vaddr);

bool wrapper_search_is_observed(const struct wrapper_search *search, uint64_t vaddr);

/* Resolves the target of a jump or call: follows a stub of the procedure linkage table to a
 * function of the module. Returns 0 if the stub leads to another module. */
uint64_t wrapper_search_target(struct wrapper_search *search, uint64_t vaddr);

/* Returns true if the current instruction jumps to or calls an observed function. */
bool wrapper_search_leads_to_observed(struct wrapper_search *search, const struct x86_walk *walk);

/* Opens a walk over code of the image; close it with wrapper_search_close_code(). Returns false on
 * failure, and once too much code has been examined. */
bool wrapper_search_open_code(struct wrapper_search *search, uint64_t vaddr, uint64_t size,
			      struct function_code *code, struct x86_walk *walk);
void wrapper_search_close_code(struct function_code *code, struct x86_walk *walk);

/* Returns true if the function calls an observed one; false once too much code has been examined.
 * `vaddr` is a symbol's value: on Arm, it includes the Thumb bit (arch/arch.h). */
bool wrapper_detect(struct wrapper_search *search, uint64_t vaddr, uint64_t size);

#endif
