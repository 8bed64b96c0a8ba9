/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks to which only a word on a stack or in a register points, if it is not known whether the
 * program can still read that word (REFERENCE_UNKNOWN). They may be in use, or leaked with a
 * leftover pointer, so they have their own class: LEAK_STACK.
 *
 * Such a block, a candidate, and everything below it are reached at once, as from a root: many
 * programs keep their whole heap below a local variable of main, and none of it may be looked up,
 * stored or read more often than before. But pointers to the candidate itself are looked up to the
 * end. For this, each block has an origin: the roots, or the rank of the candidate that it was
 * first reached from. A candidate becomes an ordinary reachable block when a pointer to it is found
 * in memory, or in a block, of a lower origin: the roots, or a candidate with a lower rank. The
 * order of ranks guarantees that of several candidates in a cycle one remains. A pointer from below
 * a candidate back to it does not count, as in trees whose nodes point to their parents. Outer
 * frames have lower ranks, because the data of an outer function is more likely to lead to the data
 * of an inner one.
 *
 * The origin of a block does not change once the block has been passed. So a candidate remains if
 * the roots lead to it only through blocks that are below it and were first reached from there.
 * What candidates of higher ranks lead to is remembered by rank until it is known whether they
 * remain. The error is on the safe side: such a block is shown, and would otherwise count as
 * reachable.
 *
 * Cost: one byte per block, taken from the room for edges, and only if there are candidates. If a
 * whole heap full of pointers is below a candidate, a scan takes a fifth longer.
 */
#ifndef MTRACE_SCAN_MARK_STACK_ONLY_H
#define MTRACE_SCAN_MARK_STACK_ONLY_H

#include <stdint.h>

#include "scan/mark/mark.h"

/*
 * Makes the block a candidate if nothing has reached it yet. Call this before the block is reached,
 * outer frames first. If out of memory, the block counts as reached from a root.
 */
void stack_only_add(struct scan *scan, uint32_t slot);
/*
 * Called when the target is reached from the source (SLOT_NONE: a root). Only if scan->origins is
 * set.
 */
void stack_only_inherit(struct scan *scan, uint32_t source, uint32_t target);
/* Called when reachability is complete: keeps the remaining ones in scan->candidates. */
void stack_only_finish(struct scan *scan);

#endif
