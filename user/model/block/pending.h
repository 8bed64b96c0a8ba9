/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that have begun and not ended, a pile for each thread: a signal handler may interrupt mmap
 * and call realloc. A thread has one pending call per api at most.
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
	uint32_t below; /* the one that this one interrupted, or MAP64_NONE */
	uint8_t api;    /* enum api */
	bool missed;    /* names memory that is not booked */
	uint8_t sample; /* of the new block: see RECORD_SAMPLE */
	uint64_t caller;
	uint64_t old;       /* the address that the call gives up; 0: none */
	uint64_t size;      /* asked for */
	struct block block; /* the old block, taken out of the heap; address 0: none */
	uint32_t pieces;    /* what was taken out of the regions */
};

/* Zeroed memory is an empty set. */
struct pendings {
	VEC(struct pending) items; /* in no order; those without api are spare */
	uint32_t spare;            /* index + 1 of the first spare one, chained by below */
	struct map64 newest;       /* by thread */
};

int pendings_push(struct pendings *pendings, const struct pending *pending); /* 0 or -ENOMEM */
/* Take the thread's newest call off its pile; false if there is none. */
bool pendings_pop(struct pendings *pendings, uint32_t tid, struct pending *ret_pending);
/* The same for the thread with the lowest id, but for `tid`; false if none has a call. */
bool pendings_pop_others(struct pendings *pendings, uint32_t tid, struct pending *ret_pending);
/* All calls left are one thread's: let it be known as `tid`. 0 or -ENOMEM. */
int pendings_rename(struct pendings *pendings, uint32_t tid);
/* *ret_copy: a set of its own. 0 or -ENOMEM. */
int pendings_copy(struct pendings *ret_copy, const struct pendings *pendings);
/* Does the thread have a pending call of this api? */
bool pendings_has(const struct pendings *pendings, uint32_t tid, uint8_t api);
void pendings_free(struct pendings *pendings);

#endif
