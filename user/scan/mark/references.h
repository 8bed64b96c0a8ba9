/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words on stacks and in registers that point into blocks: noted, judged, then taken for roots. */
#ifndef MTRACE_SCAN_MARK_REFERENCES_H
#define MTRACE_SCAN_MARK_REFERENCES_H

#include <stddef.h>
#include <stdint.h>

#include "scan/mark/mark.h"

/* Notes the first `count` of scan->hits, whose tags are offsets from the address. */
void references_note(struct scan *scan, uint64_t address, size_t count);
/*
 * Asks the judge about all of them, and takes those that are left for roots: first those that the
 * program can still read, then the others, whose blocks are candidates (scan/mark/stack_only.h).
 * These backwards, because the stack of the first thread, and in each stack the outer frames, have
 * the higher addresses. Returns 0 or -errno.
 */
int references_judge(struct scan *scan);

#endif
