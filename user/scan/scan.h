/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The leak scan: which blocks does nothing reference any more? A function of memory, roots and
 * blocks, wherever they come from; scan/target.h makes them of a process. See scan.c for how.
 *
 * What the classes (model/snapshot/leak.h) mean:
 *   reachable  a chain of pointers to the starts of blocks leads there from a root
 *   possible   some chain does, but somewhere in it is a pointer into a block's interior
 *   definite   no chain does, nor one from another lost block
 *   indirect   lost too, but some definite block leads there. Of a cycle that nothing else leads
 *              to, the block with the lowest address is the definite one
 *   stack-only only a word on a stack or in a register points to it, and it is not known whether
 *              the program can still read that word (scan/mark/stack_only.h). What hangs below
 *              the block is reachable or possible
 *   unknown    no chain was found, but memory that could begin or continue one was not readable
 *
 * A pointer is a word at a multiple of `step` that holds an address in [start, start + size) of a
 * block, or the start of an empty one; so one past the end is none. Interior pointers of the known
 * idioms (scan/pattern/idiom.h) count as pointers to the start. Words beyond a block's size that
 * belong to it by malloc's rounding are read as its content, for programs that use them.
 *
 * What is not found: pointers that only the kernel holds (epoll, io_uring, timers), pointers that
 * are mangled (setjmp, atexit), compressed or tagged, and pointers at addresses that are no
 * multiple of `step` (packed structures: step 4, or 1).
 */
#ifndef MTRACE_SCAN_SCAN_H
#define MTRACE_SCAN_SCAN_H

#include <stdint.h>

#include "model/snapshot/leak.h"
#include "scan/block/blocks.h"
#include "scan/scan_types.h"

/*
 * Blocks that are not sealed are; that takes time, and is done after memory was copied. Memory that
 * an allocator of the program's own maps and hands out in blocks is not to be among them as a
 * whole, or it would be cut short at its first block. 0 or -errno
 * (-ENOMEM, -ESRCH, -EINVAL for a bad word or step).
 */
int scan_run(struct blocks *blocks, const struct scan_input *input, struct scan_result *ret_result);
enum leak_class scan_class_of(const struct scan_result *result, uint32_t slot);
void scan_result_free(struct scan_result *result);

#endif
