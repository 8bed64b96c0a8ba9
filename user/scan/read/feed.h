/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory in order, in large bites, read in advance by a thread of its own if so desired. */
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

#define FEED_BYTES  (256 * 1024) /* of a batch: fits the second-level cache, and costs few calls */
#define FEED_WANTED 256
#define FEED_PIECES (FEED_WANTED + 2 * (FEED_BYTES / 4096 + FEED_WANTED))

struct feed_batch {
	struct feed_piece pieces[FEED_PIECES];
	size_t count;
	unsigned char *buffer;
	int status; /* 1, 0 at the end, -errno */
};

/* What is to be read for a batch. */
struct feed_plan {
	struct memory_piece wanted[FEED_WANTED];
	size_t count;
	size_t bytes; /* at most FEED_BYTES */
};

struct feed;

/*
 * Feed the ranges, which are sorted and stay the caller's. A piece that continues another begins
 * `overlap` bytes before its end, so that no word is cut. 0 or -ENOMEM.
 */
int feed_open(struct feed **ret_feed, const struct scan_memory *memory,
	      const struct scan_range *ranges, size_t count, size_t overlap, bool ahead);
/* The next batch, valid until the next call: 1, 0 at the end, -errno. */
int feed_next(struct feed *feed, const struct feed_batch **ret_batch);
/* Begin again with other ranges; not for a feed that reads ahead. */
void feed_restart(struct feed *feed, const struct scan_range *ranges, size_t count);
/*
 * The same in two steps, for those who share a feed, each with batches of his own: what comes next,
 * and what cannot be read of it, one at a time; then to read it into a buffer, several at a time.
 * Both return 1, -errno, and the first 0 at the end.
 */
int feed_plan(struct feed *feed, struct feed_batch *batch, struct feed_plan *plan);
int feed_fill(const struct feed *feed, struct feed_batch *batch, struct feed_plan *plan,
	      unsigned char *buffer);
/* Bytes that a feed takes. */
size_t feed_memory(bool ahead);
void feed_close(struct feed *feed); /* NULL is fine */

#endif
