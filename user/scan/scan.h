/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The leak scan: which blocks are no longer referenced? A function of memory, roots and blocks;
 * scan/target.h derives these from a process. scan.c explains how it works.
 *
 * The classes (model/snapshot/leak.h):
 *   reachable  a chain of pointers to the starts of blocks leads from a root to the block
 *   possible   there is a chain, but one of its pointers is an interior or tagged pointer
 *   definite   leaked: there is no chain, and no other leaked block points to it
 *   indirect   leaked, but a definite block points to it, directly or through others. In a cycle
 *              that no other block points to, the block with the lowest address is definite
 *   stack-only only a word on a stack or in a register points to it, and it is not known whether
 *              the program can still read that word (scan/mark/stack_only.h). Blocks below it are
 *              reachable or possible
 *   unknown    there is no chain, but memory that could begin or continue one was not readable
 *
 * A pointer is a word at a multiple of `step` that holds an address in [start, start + size) of a
 * block, or the start of an empty one; one past the end is not a pointer. Interior pointers of
 * known idioms (scan/pattern/idiom.h) count as pointers to the start. A tagged pointer is a word of
 * 8 bytes that equals the start of a block once its upper 16 bits are cleared. Bytes that
 * malloc's rounding adds after a block's size are read as its content, for programs that use them.
 *
 * Not found: pointers that only the kernel holds and does not show (requests of io_uring and aio
 * that are in progress), mangled pointers (setjmp, atexit), compressed pointers, and pointers at
 * addresses that are not a multiple of `step` (packed structures: use step 4, or 1).
 */
#ifndef MTRACE_SCAN_SCAN_H
#define MTRACE_SCAN_SCAN_H

#include <stdint.h>

#include "model/snapshot/leak.h"
#include "scan/block/blocks.h"
#include "scan/scan_types.h"

/*
 * Scans for leaks. Seals the blocks if they are not sealed yet, which takes time, after memory was
 * copied. A mapping from which an allocator of the program hands out blocks must not be a block
 * itself, or it would end at the first of them. The caller frees *ret_result. Returns 0 or -errno
 * (-ENOMEM, -ESRCH, -EINVAL for a bad word or step).
 */
int scan_run(struct blocks *blocks, const struct scan_input *input, struct scan_result *ret_result);
enum leak_class scan_class_of(const struct scan_result *result, uint32_t slot);
void scan_result_free(struct scan_result *result);

#endif
