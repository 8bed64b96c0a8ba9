/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delivers memory in order and in large pieces; a separate thread can read ahead. */
#ifndef MTRACE_SCAN_READ_FEED_H
#define MTRACE_SCAN_READ_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/scan_types.h"

struct feed_piece {
	uint64_t address;
	size_t size;
	const unsigned char *data; /* NULL: could not be read */
};

#define FEED_BYTES  (256 * 1024) /* of a batch: fits the second-level cache and needs few calls */
#define FEED_WANTED 256
#define FEED_PIECES (FEED_WANTED + 2 * (FEED_BYTES / 4096 + FEED_WANTED))

struct feed_batch {
	struct feed_piece pieces[FEED_PIECES];
	size_t count;
	unsigned char *buffer;
	int status; /* 1, 0 at the end, -errno */
};

/* The memory to read for a batch. */
struct feed_plan {
	struct memory_piece wanted[FEED_WANTED];
	size_t count;
	size_t bytes; /* at most FEED_BYTES */
};

struct feed;

/*
 * Feeds the ranges, which are sorted and owned by the caller. A piece that continues another one
 * starts `overlap` bytes before its end, so that no word is cut. Returns 0 or -ENOMEM.
 */
int feed_open(struct feed **ret_feed, const struct scan_memory *memory,
	      const struct scan_range *ranges, size_t count, size_t overlap, bool ahead);
/* The next batch, valid until the next call. Returns 1, 0 at the end, or -errno. */
int feed_next(struct feed *feed, const struct feed_batch **ret_batch);
/* Starts over with other ranges. Not allowed for a feed that reads ahead. */
void feed_restart(struct feed *feed, const struct scan_range *ranges, size_t count);
/*
 * The same in two steps, for threads that share a feed, each with its own batch. feed_plan finds
 * the next memory and its unreadable parts; only one thread at a time may call it. feed_fill reads
 * the memory into a buffer, and threads may do so in parallel. Both return 1 or -errno; feed_plan
 * also returns 0 at the end.
 */
int feed_plan(struct feed *feed, struct feed_batch *batch, struct feed_plan *plan);
int feed_fill(const struct feed *feed, struct feed_batch *batch, struct feed_plan *plan,
	      unsigned char *buffer);
/* The memory that a feed uses, in bytes. */
size_t feed_memory(bool ahead);
void feed_close(struct feed *feed); /* NULL is fine */

#endif
