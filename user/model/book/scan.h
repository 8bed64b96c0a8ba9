/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a leak scan asks of a process's books, and what they keep of its result until the next one.
 * Who scans, and how, the model does not know.
 *
 * Blocks, for a scan: what the malloc family gave out; and what the program's own mmap calls did
 * if it is still one piece and no allocator that we know has cut blocks out of it. All else that
 * is mapped is memory like any other, where pointers may lie.
 */
#ifndef MTRACE_MODEL_BOOK_SCAN_H
#define MTRACE_MODEL_BOOK_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/process/state.h"

/* How many blocks there are at most. */
size_t scan_book_count(const struct process *process);
/* Call `take` for each, in no particular order: 0, -ENOMEM, or what `take` returned first. */
int scan_book_blocks(const struct process *process,
		     int (*take)(void *ctx, uint64_t address, uint64_t size), void *ctx);
/*
 * Tells a live block from others that had its address; 0 if none is live there. A block that was
 * allocated after `until_ns` counts as not live, and so does one in the last moments before, in
 * which the clock cannot tell it from its successor.
 */
uint64_t scan_book_stamp(const struct process *process, uint64_t address, uint64_t until_ns);
/* Was nothing lost since the first instruction, and is no thread within realloc now? */
bool scan_book_is_complete(const struct process *process);
/* Does the pid only share these books' memory, until it executes a program (a child of vfork)? */
bool scan_book_is_guest(const struct process *process, uint32_t pid);
/* The module of the only allocator that the process maps; MODULE_NONE if there are more, or none.
 */
uint32_t scan_book_allocator(const struct process *process);

/* A result while it is put together. Zeroed memory has nothing to free. */
struct scan_book {
	const struct process *process;
	struct snapshot_leaks *leaks; /* by site */
	size_t count;
	struct snapshot_scan scan; /* classes are summed up here; the rest is the caller's */
};

/* For the sites that there are now; they must not change before the commit. 0 or -ENOMEM. */
int scan_book_open(struct scan_book *ret_book, const struct process *process);
/* A block's class. Blocks that are not live any more, or not booked, are left out. */
void scan_book_add(struct scan_book *book, uint64_t address, enum leak_class leak);
/* Replaces what the books kept of an earlier scan. */
void scan_book_commit(struct scan_book *book, struct process *process);
void scan_book_free(struct scan_book *book);

/* There was none, and why; an earlier result is kept. 0 or -ENOMEM. */
int scan_book_fail(struct process *process, const char *reason);

#endif
