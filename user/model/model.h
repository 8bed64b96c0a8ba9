/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model: the state of every traced process, built from events. It opens no files and prints
 * nothing. Not thread-safe.
 *
 * Calls are counted like valgrind does: a successful realloc(p, n) is one free of p and one
 * allocation of n; realloc(NULL, n) is an allocation; realloc(p, 0) that returns NULL is a free;
 * free(NULL) is nothing; a failed call changes only failed_allocations. Between the begin and the
 * end of a realloc, the old block is still live in all totals, but another thread may already get
 * its address.
 *
 * A free of an address that is not live is internal to the allocator if its direct caller is in a
 * mapping with MAPPING_FLAG_ALLOCATOR, or if its thread is between EVENT_THREAD_EXITS and
 * EVENT_THREAD_GONE (glibc then frees the thread's cache once more). It is counted in
 * internal.frees. Any other free of an address that is not live is an unmatched free. A munmap or
 * mremap that affects no known region is counted in internal.munmaps.
 *
 * An allocation whose direct caller is in a wrapper (EVENT_WRAPPER) is recorded under the wrapper's
 * api; if wrappers call each other, under that of the outermost. An mmap or mremap whose direct
 * caller is in a MAPPING_FLAG_ALLOCATOR mapping is recorded as API_MMAP_LIBC.
 *
 * A child of fork starts with a copy of its parent's state. Live blocks are inherited: they count
 * in the live figures of each process, but not in the child's allocations, so that in every section
 * and site allocations - frees = live - inherited. Calls that were pending in other threads never
 * end in the child. A child that shares its parent's memory (vfork) is a second user of the
 * parent's state until it calls exec or exits; if the parent exits first, the state continues under
 * the child's pid.
 *
 * Memory is bounded: a process has a limited number of sites and stacks, and everything beyond is
 * recorded under one site per api, called `other` in the snapshot. A limited number of closed
 * processes is kept, and the totals of the rest; the least important ones are dropped first
 * (snapshot_compare).
 */
#ifndef MTRACE_MODEL_MODEL_H
#define MTRACE_MODEL_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "model/config.h"
#include "model/event.h"
#include "model/snapshot/snapshot.h"

struct model;
struct process;

/* Returns 0 or -ENOMEM. */
int model_new(struct model **ret_model, const struct model_config *config);
void model_free(struct model *model); /* NULL is fine */

/*
 * Applies one event. Returns 0 or -ENOMEM. Invalid events are not fatal; they are counted in the
 * snapshot's `dropped`: those for an unknown pid (or unknown parent, for fork), an unknown kind or
 * api, or a free, begin or end of an api that has none.
 */
int model_event(struct model *model, const struct event *event);

/*
 * From here on, probes are removed one by one, those of allocations before those of frees. So frees
 * of unknown blocks are not counted, and releases are no longer checked.
 */
void model_unprobe(struct model *model);

/*
 * Pauses a process: allocations from here on are tracked, so that their frees are known, but belong
 * to no site and no total. Frees of older blocks are recorded as usual. Children inherit the pause,
 * and so does a program that the process executes. Returns 0 or -ESRCH.
 */
int model_pause(struct model *model, uint32_t pid, bool paused);
/* The same for all current and future processes. */
void model_pause_all(struct model *model, bool paused);
/* Resets the counts of a process, as if the trace started now (process_reset). Returns 0, -ESRCH or
 * -ENOMEM. */
int model_reset(struct model *model, uint32_t pid, uint64_t now_ns);

/*
 * Adds a process that was loaded, with all its parts, after the others. Returns 0, -ENOMEM, or
 * -EBADMSG if the model has another process with one of its pids. The model owns the process only
 * on success.
 */
int model_enter(struct model *model, struct process *process);

/* Returns the open process with this pid, for a leak scan (model/update/scan.h), or NULL. */
struct process *model_process(const struct model *model, uint32_t pid);
/* Returns an open or closed process by its number; NULL if it never existed or was merged into
 * `others`. */
struct process *model_process_by_number(const struct model *model, uint32_t number);
/* Returns the pids of all open processes; the caller frees the array. Returns 0 or -ENOMEM. */
int model_pids(const struct model *model, uint32_t **ret_pids, size_t *ret_count);

/*
 * Takes an immutable snapshot of the model. Each image of a process is a section, in order of
 * appearance, except those merged into `others`. Frames have address, module id and file offset;
 * the caller fills in names (snapshot_resolve). Free it with snapshot_free. Returns 0 or -ENOMEM.
 */
int model_snapshot(const struct model *model, uint64_t now_ns, struct snapshot **ret_snapshot);

/* Changes the limit of the memory of blocks, sites and stacks (max_bytes in model/config.h). */
void model_set_limit(struct model *model, uint64_t bytes);
/* The mean at which new blocks are sampled since the memory came near its limit; 0: all are kept.
 */
uint64_t model_limit_mean(const struct model *model);

/* Memory that the blocks of all processes take in the model, in bytes. */
size_t model_memory(const struct model *model);
/* The same for blocks, sites and series. */
size_t model_bytes(const struct model *model);

#endif
