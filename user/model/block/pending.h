/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that have begun but not ended, as a stack for each thread: a signal handler may interrupt
 * mmap and call realloc. A thread has at most one pending call per api.
 */
#ifndef MTRACE_MODEL_BLOCK_PENDING_H
#define MTRACE_MODEL_BLOCK_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "model/block/heap.h"
#include "model/block/region.h"

struct pending {
	uint32_t tid;
	uint32_t below; /* index of the call that this one interrupted, or MAP64_NONE */
	uint8_t api;    /* enum api */
	bool missed;    /* refers to memory that is not in the model */
	uint8_t sample; /* of the new block: see RECORD_SAMPLE */
	uint64_t caller;
	uint64_t old;       /* address that the call releases; 0 if none */
	uint64_t size;      /* requested size */
	struct block block; /* the old block, removed from the heap; address 0 if none */
	uint32_t pieces;    /* pieces removed from the regions */
};

/* An all-zero set is empty. */
struct pendings {
	VEC(struct pending) items; /* unordered; items without api are free */
	uint32_t spare;            /* index + 1 of the first free item; chained by `below` */
	struct map64 newest;       /* by thread id */
};

int pendings_push(struct pendings *pendings, const struct pending *pending); /* 0 or -ENOMEM */
/* Pops the newest call of a thread. Returns false if there is none. */
bool pendings_pop(struct pendings *pendings, uint32_t tid, struct pending *ret_pending);
/* Pops the newest call of the thread with the lowest id other than `tid`. Returns false if there is
 * none. */
bool pendings_pop_others(struct pendings *pendings, uint32_t tid, struct pending *ret_pending);
/* Changes the thread id of all calls, which must belong to a single thread. Returns 0 or
 * -ENOMEM. */
int pendings_rename(struct pendings *pendings, uint32_t tid);
/* Makes *ret_copy an independent copy. Returns 0 or -ENOMEM. */
int pendings_copy(struct pendings *ret_copy, const struct pendings *pendings);
/* Returns true if the thread has a pending call of this api. */
bool pendings_has(const struct pendings *pendings, uint32_t tid, uint8_t api);
void pendings_free(struct pendings *pendings);

#endif
