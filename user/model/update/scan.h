/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a leak scan needs from the model of a process, and how its result is stored until the next
 * scan. The model does not know who scans, or how.
 *
 * Blocks for a scan are: blocks of the malloc family, and regions that the program itself has
 * mapped, if they still consist of one piece and no known allocator has placed blocks in them. All
 * other mapped memory is only searched for pointers.
 */
#ifndef MTRACE_MODEL_UPDATE_SCAN_H
#define MTRACE_MODEL_UPDATE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/process/state.h"

/* An upper bound of the number of blocks. */
size_t scan_update_count(const struct process *process);
/* Calls `take` for each block, in no particular order. Returns 0, -ENOMEM, or the first nonzero
 * result of `take`. */
int scan_update_blocks(const struct process *process,
		       int (*take)(void *ctx, uint64_t address, uint64_t size), void *ctx);
/*
 * Returns a stamp that distinguishes a live block from others at the same address; 0 if there is no
 * live block. A block that was allocated after `until_ns` does not count as live, nor does one from
 * the last moments before, which the coarse clock cannot distinguish from its successor.
 */
uint64_t scan_update_stamp(const struct process *process, uint64_t address, uint64_t until_ns);
/* Returns true if nothing was dropped since the first instruction, and no thread is in realloc
 * now. */
bool scan_update_is_complete(const struct process *process);
/* Returns true if the pid is a guest: a child of vfork that shares the memory until it executes a
 * program. */
bool scan_update_is_vfork_child(const struct process *process, uint32_t pid);
/* Returns the module of the only allocator that the process maps; MODULE_NONE if there are several
 * or none. */
uint32_t scan_update_allocator(const struct process *process);

/* A result under construction. An all-zero one has nothing to free. */
struct scan_update {
	const struct process *process;
	struct snapshot_leaks *leaks; /* by site */
	size_t count;
	struct snapshot_scan scan; /* classes are summed up here; the caller sets the rest */
};

/* Covers the current sites, which must not change before the commit. Returns 0 or -ENOMEM. */
int scan_update_open(struct scan_update *ret_account, const struct process *process);
/* Records the class of a block. Ignores blocks that are no longer live, or have no site. */
void scan_update_add(struct scan_update *update, uint64_t address, enum leak_class leak);
/* Replaces the result of an earlier scan. */
void scan_update_commit(struct scan_update *update, struct process *process);
void scan_update_free(struct scan_update *update);

/* Records why there was no scan; an earlier result is kept. Returns 0 or -ENOMEM. */
int scan_update_fail(struct process *process, const char *reason);

#endif
