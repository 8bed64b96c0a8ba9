/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model: the books of every traced process, kept from events. It opens no file and prints
 * nothing. One thread; no locks.
 *
 * How calls are counted (as valgrind counts them): a successful realloc(p, n) is one free of p and
 * one allocation of n; realloc(NULL, n) is an allocation; realloc(p, 0) that returns NULL is a
 * free; free(NULL) is nothing; a failed call changes nothing but failed_allocations. Between the
 * begin and the end of a realloc the old block is still live in all totals, but its address may
 * already be handed to another thread.
 *
 * A free of an address that is not live is the allocator's internal business if its direct caller
 * lies in a mapping with MAPPING_FLAG_ALLOCATOR, or if its thread is between EVENT_THREAD_ENDS and
 * EVENT_THREAD_GONE (glibc then frees the thread's cache once more): counted in internal.frees.
 * Any other free of an address that is not live is an unmatched free. A munmap or mremap that
 * touches no booked region is internal.munmaps.
 *
 * An allocation whose direct caller lies in a wrapper (EVENT_WRAPPER) is booked under the
 * wrapper's api; where wrappers call each other, under that of the outermost. An mmap or mremap
 * whose direct caller lies in a MAPPING_FLAG_ALLOCATOR mapping is booked as API_MMAP_LIBC.
 *
 * A child of fork begins with a copy of its parent's books: what lives is inherited and counts once
 * in each process's live figures, never in the child's allocations, so that in every section and
 * site allocations - frees = live - inherited. Calls that other threads had pending never end in
 * it. A child that shares its parent's memory (vfork) is a second user of the parent's books until
 * it execs or ends; if the parent is the first to go, they go on under the child's pid.
 *
 * Memory is bounded: a process has so many sites and stacks, what comes beyond is booked under one
 * site per api, `other` in the snapshot. Of books that are closed so many are kept, and of the rest
 * the sums: those go that matter least (snapshot_compare).
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

/* 0 or -ENOMEM. */
int model_new(struct model **ret_model, const struct model_config *config);
void model_free(struct model *model); /* NULL is fine */

/*
 * Book one event. 0 or -ENOMEM. Events that make no sense (unknown pid, end without begin) are
 * counted in the snapshot's `dropped`, never fatal: no books open for their pid or, at fork, their
 * parent, an unknown kind or api, a free, begin or end of an api that has none.
 */
int model_event(struct model *model, const struct event *event);

/*
 * From here on probes are removed one after the other, those of allocations before those of frees.
 * A free of an unknown block is no news then, and no release is checked any more.
 */
void model_unprobe(struct model *model);

/*
 * Pause: what the process allocates from here on is known, so that its frees are, but it is of no
 * site and in no total, until it is resumed. What it frees is booked as ever. Children inherit it,
 * and so does the program that the process executes. 0 or -ESRCH.
 */
int model_pause(struct model *model, uint32_t pid, bool paused);
/* The same for all, and for those that are yet to come. */
void model_pause_all(struct model *model, bool paused);
/* Forget the counts of open books, as if the trace began now (process_reset). 0, -ESRCH, -ENOMEM.
 */
int model_reset(struct model *model, uint32_t pid, uint64_t now_ns);

/*
 * Adds a process that was loaded, with all its parts, behind the others. Returns 0, -ENOMEM, or
 * -EBADMSG if the model has another process with one of its pids. The model owns the process only
 * after success.
 */
int model_enter(struct model *model, struct process *process);

/* The open books of a pid, for a leak scan (model/book/scan.h); NULL if there are none. */
struct process *model_process(const struct model *model, uint32_t pid);
/* Books by their number, open or closed; NULL if there never were, or they are summed up. */
struct process *model_books(const struct model *model, uint32_t number);
/* The pids of all open books, which the caller frees. 0 or -ENOMEM. */
int model_pids(const struct model *model, uint32_t **ret_pids, size_t *ret_count);

/*
 * An immutable picture of the books, every process image its own section, in order of appearance,
 * but for those that are summed up in `others`.
 * Frames carry address, module id and file offset; names are filled in by the caller
 * (snapshot_resolve). Free with snapshot_free. 0 or -ENOMEM.
 */
int model_snapshot(const struct model *model, uint64_t now_ns, struct snapshot **ret_snapshot);

/* Bytes of the tool's own memory behind the blocks of all processes. */
size_t model_memory(const struct model *model);
/* The same of blocks, sites and series. */
size_t model_bytes(const struct model *model);

#endif
