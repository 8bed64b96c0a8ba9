/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrappers: operator new and delete whose body calls an allocation function that is probed. The
 * probe sees their calls already, so they need none.
 */
#ifndef MTRACE_SYMBOL_WRAPPER_H
#define MTRACE_SYMBOL_WRAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "symbol/elf_image.h"
#include "symbol/got_slots.h"

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

/* Does the function call one that is observed? No, once too much code was looked at. */
bool wrapper_detect(struct wrapper_search *search, uint64_t vaddr, uint64_t size);

#endif
