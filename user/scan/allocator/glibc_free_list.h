/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists in which glibc's malloc keeps free chunks. */
#ifndef MTRACE_SCAN_ALLOCATOR_GLIBC_FREE_LIST_H
#define MTRACE_SCAN_ALLOCATOR_GLIBC_FREE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "scan/allocator/word_reader.h"

/* Returns true if the word at `place`, which holds `chunk`, is a list link to that chunk. */
bool glibc_free_list_links(struct word_reader *reader, uint64_t place, uint64_t chunk);

#endif
