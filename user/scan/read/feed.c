/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A batch is filled in two steps: take extents until there are enough bytes or pieces, then read
 * them all with one call. If a read stops short, the page at which it stopped becomes a piece
 * without data, and reading continues after it.
 *
 * With a thread, the batches form a ring. Each belongs to one side at a time: the reader fills the
 * next empty one, and the other side returns its batch when it asks for another. Reading takes most
 * of the time of a scan, so a second core hides all work on the words, unless every other word is a
 * pointer.
 */
#include "scan/read/feed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"

#define PAGE  4096u
#define RING  4
#define ALONE 1

struct feed {
	const struct scan_memory *memory;
	const struct scan_range *ranges;
	size_t count;
	size_t overlap;
	/* the position of the reader */
	size_t range;
	uint64_t address; /* valid if started */
	bool started;     /* the range was started */
	struct scan_extent extent;
	uint64_t last_end; /* of the last piece, in the same range */

	struct feed_batch *batches;
	size_t batch_count;
	size_t filled; /* number of batches filled so far */
	size_t asked;  /* number of batches requested so far; the last one is in use */
	bool ahead;
	bool closing;
	pthread_t reader;
	pthread_mutex_t lock; /* protects filled, asked and closing */
	pthread_cond_t changed;
};

static void add_piece(struct feed_batch *batch, uint64_t address, size_t size,
		      const unsigned char *data)
{
	struct feed_piece *last = batch->count ? &batch->pieces[batch->count - 1] : NULL;

	if (last && !last->data && !data && last->address + last->size == address)
		last->size += size;
	else
		batch->pieces[batch->count++] =
			(struct feed_piece){.address = address, .size = size, .data = data};
}

/*
 * Makes feed->extent hold the next bytes to deliver. Returns 1, 0 at the end of the ranges, or
 * -errno.
 */
static int find_extent(struct feed *feed)
{
	while (feed->range < feed->count) {
		const struct scan_range *range = &feed->ranges[feed->range];
		int found;

		if (!feed->started) {
			feed->address = range->start;
			feed->last_end = 0;
		}
		feed->started = true;
		if (feed->extent.start <= feed->address && feed->address < feed->extent.end)
			return 1;
		found = feed->address < range->end
				? feed->memory->next(feed->memory->ctx, feed->address, range->end,
						     &feed->extent)
				: 0;
		if (found < 0)
			return found;
		if (found) {
			feed->address = feed->extent.start;
			return 1;
		}
		feed->range++;
		feed->started = false;
		feed->extent = (struct scan_extent){0};
	}
	return 0;
}

/* Takes up to `room` bytes. They start with the end of the last piece if that is adjacent. */
static struct memory_piece take(struct feed *feed, size_t room)
{
	uint64_t start = feed->address, end = feed->extent.end;

	if (start && start == feed->last_end)
		start -= feed->overlap;
	if (end - start > room)
		end = start + room;
	feed->address = feed->last_end = end;
	return (struct memory_piece){.address = start, .size = end - start};
}

/* Unreadable memory goes directly into the batch. */
int feed_plan(struct feed *feed, struct feed_batch *batch, struct feed_plan *plan)
{
	size_t holes = 0;
	int found = 1;

	batch->count = 0;
	plan->count = plan->bytes = 0;
	while (FEED_BYTES - plan->bytes > 2 * PAGE && plan->count + holes < FEED_WANTED) {
		found = find_extent(feed);
		if (found <= 0)
			break;
		if (!feed->extent.readable) {
			add_piece(batch, feed->address, feed->extent.end - feed->address, NULL);
			feed->address = feed->extent.end;
			holes++;
			continue;
		}
		plan->wanted[plan->count] = take(feed, FEED_BYTES - plan->bytes);
		plan->bytes += plan->wanted[plan->count++].size;
	}
	return found < 0 ? found : plan->count + holes > 0;
}

/*
 * Adds `got` bytes of the pieces from *at on. A part of the first piece may have been added before.
 */
static unsigned char *add_pieces(struct feed_batch *batch, struct memory_piece *wanted,
				 size_t count, size_t *at, size_t got, unsigned char *data)
{
	while (*at < count && got) {
		struct memory_piece *piece = &wanted[*at];
		size_t size = got < piece->size ? got : piece->size;

		add_piece(batch, piece->address, size, data);
		data += size;
		got -= size;
		piece->address += size;
		piece->size -= size;
		*at += !piece->size;
	}
	return data;
}

/* The page at which reading stopped. */
static void add_hole(struct feed_batch *batch, struct memory_piece *wanted, size_t *at)
{
	struct memory_piece *piece = &wanted[*at];
	size_t size = PAGE - piece->address % PAGE;

	size = size < piece->size ? size : piece->size;
	add_piece(batch, piece->address, size, NULL);
	piece->address += size;
	piece->size -= size;
	*at += !piece->size;
}

int feed_fill(const struct feed *feed, struct feed_batch *batch, struct feed_plan *plan,
	      unsigned char *buffer)
{
	const struct scan_memory *memory = feed->memory;
	size_t at = 0;

	while (at < plan->count) {
		ssize_t got =
			memory->read(memory->ctx, plan->wanted + at, plan->count - at, buffer);

		if (got < 0)
			return (int)got;
		buffer = add_pieces(batch, plan->wanted, plan->count, &at, (size_t)got, buffer);
		if (at < plan->count)
			add_hole(batch, plan->wanted, &at);
	}
	return 1;
}

static int fill(struct feed *feed, struct feed_batch *batch)
{
	struct feed_plan plan;
	int status = feed_plan(feed, batch, &plan);

	return status > 0 ? feed_fill(feed, batch, &plan, batch->buffer) : status;
}

/* Waits for a batch to fill. Returns NULL if there will be none. */
static struct feed_batch *next_empty(struct feed *feed)
{
	struct feed_batch *batch;

	pthread_mutex_lock(&feed->lock);
	while (!feed->closing && feed->filled - feed->asked + 1 >= feed->batch_count)
		pthread_cond_wait(&feed->changed, &feed->lock);
	batch = feed->closing ? NULL : &feed->batches[feed->filled % feed->batch_count];
	pthread_mutex_unlock(&feed->lock);
	return batch;
}

static void *read_ahead(void *argument)
{
	struct feed *feed = argument;
	struct feed_batch *batch;
	int status = 1;

	while (status > 0 && (batch = next_empty(feed))) {
		batch->status = status = fill(feed, batch);
		pthread_mutex_lock(&feed->lock);
		feed->filled++;
		pthread_cond_broadcast(&feed->changed);
		pthread_mutex_unlock(&feed->lock);
	}
	return NULL;
}

static int add_buffers(struct feed *feed)
{
	feed->batches = calloc(feed->batch_count, sizeof(*feed->batches));
	if (!feed->batches)
		return -ENOMEM;
	for (size_t i = 0; i < feed->batch_count; i++) {
		feed->batches[i].buffer = aligned_alloc(PAGE, FEED_BYTES); /* faster to copy to */
		if (!feed->batches[i].buffer)
			return -ENOMEM;
	}
	return 0;
}

int feed_open(struct feed **ret_feed, const struct scan_memory *memory,
	      const struct scan_range *ranges, size_t count, size_t overlap, bool ahead)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return -ENOMEM;
	feed->memory = memory;
	feed->ranges = ranges;
	feed->count = count;
	feed->overlap = overlap;
	feed->batch_count = ahead ? RING : ALONE;
	pthread_mutex_init(&feed->lock, NULL);
	pthread_cond_init(&feed->changed, NULL);
	if (add_buffers(feed)) {
		feed_close(feed);
		return -ENOMEM;
	}
	feed->ahead = ahead && !thread_start(&feed->reader, read_ahead, feed);
	*ret_feed = feed;
	return 0;
}

static const struct feed_batch *next_filled(struct feed *feed)
{
	size_t index;

	pthread_mutex_lock(&feed->lock);
	index = feed->asked++;
	pthread_cond_broadcast(&feed->changed);
	while (feed->filled <= index)
		pthread_cond_wait(&feed->changed, &feed->lock);
	pthread_mutex_unlock(&feed->lock);
	return &feed->batches[index % feed->batch_count];
}

int feed_next(struct feed *feed, const struct feed_batch **ret_batch)
{
	if (feed->ahead) {
		*ret_batch = next_filled(feed);
		return (*ret_batch)->status;
	}
	*ret_batch = feed->batches;
	return fill(feed, feed->batches);
}

void feed_restart(struct feed *feed, const struct scan_range *ranges, size_t count)
{
	feed->ranges = ranges;
	feed->count = count;
	feed->range = 0;
	feed->started = false;
	feed->extent = (struct scan_extent){0};
}

size_t feed_memory(bool ahead)
{
	return (ahead ? RING : ALONE) * (sizeof(struct feed_batch) + FEED_BYTES);
}

void feed_close(struct feed *feed)
{
	if (!feed)
		return;
	if (feed->ahead) {
		pthread_mutex_lock(&feed->lock);
		feed->closing = true;
		pthread_cond_broadcast(&feed->changed);
		pthread_mutex_unlock(&feed->lock);
		pthread_join(feed->reader, NULL);
	}
	for (size_t i = 0; feed->batches && i < feed->batch_count; i++)
		free(feed->batches[i].buffer);
	free(feed->batches);
	pthread_mutex_destroy(&feed->lock);
	pthread_cond_destroy(&feed->changed);
	free(feed);
}
