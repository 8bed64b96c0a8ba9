/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words on stacks and in registers that point into blocks: noted, classified, then used as roots.
 */
#ifndef MTRACE_SCAN_MARK_REFERENCES_H
#define MTRACE_SCAN_MARK_REFERENCES_H

#include <stddef.h>
#include <stdint.h>

#include "scan/mark/mark.h"

/* Notes the first `count` of scan->hits, whose tags are offsets from the address. */
void references_note(struct scan *scan, uint64_t address, size_t count);
/*
 * Classifies all references and uses the remaining ones as roots: first those that the
 * program can still read, then the unknown ones, whose blocks are candidates
 * (scan/mark/stack_only.h). The latter are taken backwards, because the first thread's stack, and
 * the outer frames of each stack, have higher addresses. Returns 0 or -errno.
 */
int references_classify(struct scan *scan);

#endif
