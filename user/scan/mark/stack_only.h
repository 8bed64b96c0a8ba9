/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that only a word on a stack, or in a register, refers to, where nothing tells whether the
 * program can still read that word (REFERENCE_UNKNOWN). They may be in use, or leaked with a
 * leftover behind them, so they get a class of their own: LEAK_STACK.
 *
 * Such a block, a candidate, and all that hangs below it are reached at once, like below a root:
 * many a program keeps its whole heap below a local variable of main, and nothing of it may be
 * looked up, remembered or read more than before. But pointers to the candidate itself are looked
 * up to the end. For this, each block has an origin: the roots, or the rank of the candidate that
 * it was first reached from. A candidate becomes an ordinary reachable block when a pointer to it
 * is found in memory, or in a block, of a lower origin: that of the roots, or of a candidate
 * with a lower rank. The order of ranks guarantees that of candidates which lead to each other in
 * a circle one remains, and a pointer from below a candidate back to it does not count, as in
 * trees whose nodes point to their parents. Outer frames have lower ranks, because what an outer
 * function keeps is more likely to lead to what an inner one works on.
 *
 * The origin of a block does not change once the block has been passed. So a candidate remains if
 * the roots lead to it only through blocks that hang below it, and that were reached from there
 * first. What candidates of higher ranks lead to is remembered by rank, until it is known whether
 * they remain. The error is to the safe side: such a block is shown, and
 * counted as reachable before.
 *
 * Cost: a byte per block, taken from the room for edges, and only if there are candidates. If a
 * whole heap full of pointers hangs below one, a scan takes a fifth longer.
 */
#ifndef MTRACE_SCAN_MARK_STACK_ONLY_H
#define MTRACE_SCAN_MARK_STACK_ONLY_H

#include <stdint.h>

#include "scan/mark/mark.h"

/*
 * Makes the block a candidate, if nothing has reached it yet. Call this before the block is
 * reached, outer frames first. Without memory, the block counts as reached from a root.
 */
void stack_only_add(struct scan *scan, uint32_t slot);
/* The target is being reached from the source (SLOT_NONE: from a root). Only if scan->origins. */
void stack_only_inherit(struct scan *scan, uint32_t source, uint32_t target);
/* Reachability has spread to the end: keeps those that are left in scan->candidates. */
void stack_only_finish(struct scan *scan);

#endif
